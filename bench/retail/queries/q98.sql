-- What do the best articles of each category take in every combination of channel and season, with all subtotals?
WITH sold AS (
  SELECT 'store' AS channel, ss_item AS item, ss_date AS day, ss_sales AS sales FROM store_sales
  UNION ALL
  SELECT 'catalogue', cs_item, cs_date, cs_sales FROM catalog_sales
  UNION ALL
  SELECT 'web', ws_item, ws_date, ws_sales FROM web_sales
), best AS (
  SELECT i_key, i_category
  FROM sold JOIN items ON item = i_key
  WHERE i_category IS NOT NULL
  GROUP BY i_key, i_category
  QUALIFY row_number() OVER (PARTITION BY i_category ORDER BY sum(sales) DESC, i_key) <= 5
)
SELECT channel, i_category, d_quarter, grouping(channel, i_category, d_quarter) AS level, count(*) AS n, sum(sales) AS sales
FROM sold JOIN best ON item = i_key JOIN dates ON day = d_key
GROUP BY CUBE (channel, i_category, d_quarter)
ORDER BY 4, 1, 2, 3
