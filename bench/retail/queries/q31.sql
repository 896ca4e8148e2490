-- In which counties do web sales grow faster from quarter to quarter than store sales?
WITH s AS (
  SELECT a_county AS county, d_quarter AS quarter, d_year AS year, sum(ss_sales) AS sales
  FROM store_sales, dates, addresses
  WHERE ss_date = d_key AND ss_address = a_key
  GROUP BY 1, 2, 3
), w AS (
  SELECT a_county AS county, d_quarter AS quarter, d_year AS year, sum(ws_sales) AS sales
  FROM web_sales, dates, addresses
  WHERE ws_date = d_key AND ws_address = a_key
  GROUP BY 1, 2, 3
)
SELECT s1.county, s1.year, round(w2.sales / w1.sales, 3) AS web12, round(s2.sales / s1.sales, 3) AS store12,
  round(w3.sales / w2.sales, 3) AS web23, round(s3.sales / s2.sales, 3) AS store23
FROM s s1, s s2, s s3, w w1, w w2, w w3
WHERE s1.quarter = 1 AND s2.quarter = 2 AND s3.quarter = 3 AND w1.quarter = 1 AND w2.quarter = 2 AND w3.quarter = 3
  AND s1.county = s2.county AND s2.county = s3.county AND s1.county = w1.county AND w1.county = w2.county AND w2.county = w3.county
  AND s1.year = 2021 AND s2.year = 2021 AND s3.year = 2021 AND w1.year = 2021 AND w2.year = 2021 AND w3.year = 2021
  AND CASE WHEN w1.sales > 0 THEN w2.sales / w1.sales END > CASE WHEN s1.sales > 0 THEN s2.sales / s1.sales END * 0.8
ORDER BY 1
