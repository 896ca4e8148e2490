-- How many sales lack a key that they should have, by channel, column and category?
SELECT channel, missing, d_year, d_quarter, i_category, count(*) AS n, sum(price) AS amount
FROM (
  SELECT 'store' AS channel, 'store' AS missing, d_year, d_quarter, i_category, ss_sales AS price
  FROM store_sales, items, dates WHERE ss_store IS NULL AND ss_date = d_key AND ss_item = i_key
  UNION ALL
  SELECT 'web', 'ship customer', d_year, d_quarter, i_category, ws_sales
  FROM web_sales, items, dates WHERE ws_ship_customer IS NULL AND ws_date = d_key AND ws_item = i_key
  UNION ALL
  SELECT 'catalogue', 'ship address', d_year, d_quarter, i_category, cs_sales
  FROM catalog_sales, items, dates WHERE cs_ship_address IS NULL AND cs_date = d_key AND cs_item = i_key
)
GROUP BY channel, missing, d_year, d_quarter, i_category
ORDER BY 1, 2, 3, 4, 5
LIMIT 100
