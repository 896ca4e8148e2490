-- What do the best customers buy by web and catalogue of what is sold often in stores?
WITH frequent AS (
  SELECT substr(i_description, 1, 30) AS description, i_key AS item, d_month_number AS month, count(*) AS n
  FROM store_sales, dates, items
  WHERE ss_date = d_key AND ss_item = i_key AND d_year IN (2020, 2021)
  GROUP BY 1, 2, 3
  HAVING count(*) > 1
), largest AS (
  SELECT max(total) AS most
  FROM (
    SELECT c_key, sum(ss_quantity * ss_price) AS total
    FROM store_sales, customers, dates
    WHERE ss_customer = c_key AND ss_date = d_key AND d_year IN (2020, 2021)
    GROUP BY c_key
  )
), best AS (
  SELECT c_key, sum(ss_quantity * ss_price) AS total
  FROM store_sales, customers
  WHERE ss_customer = c_key
  GROUP BY c_key
  HAVING sum(ss_quantity * ss_price) > 0.2 * (SELECT most FROM largest)
)
SELECT c_last, c_first, sum(amount) AS amount
FROM (
  SELECT cs_customer AS customer, cs_quantity * cs_list AS amount
  FROM catalog_sales, dates
  WHERE d_year = 2021 AND cs_date = d_key AND cs_item IN (SELECT item FROM frequent) AND cs_customer IN (SELECT c_key FROM best)
  UNION ALL
  SELECT ws_customer, ws_quantity * ws_list
  FROM web_sales, dates
  WHERE d_year = 2021 AND ws_date = d_key AND ws_item IN (SELECT item FROM frequent) AND ws_customer IN (SELECT c_key FROM best)
) JOIN customers ON c_key = customer
GROUP BY c_last, c_first
ORDER BY 1, 2, 3
LIMIT 100
