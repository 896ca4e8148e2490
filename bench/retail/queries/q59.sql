-- What did one category take in one month in all channels, by article?
WITH sold AS (
  SELECT ss_item AS item, ss_date AS day, ss_address AS place, ss_sales AS sales FROM store_sales
  UNION ALL
  SELECT cs_item, cs_date, cs_address, cs_sales FROM catalog_sales
  UNION ALL
  SELECT ws_item, ws_date, ws_address, ws_sales FROM web_sales
)
SELECT i_id, sum(sales) AS total
FROM sold, items, dates, addresses
WHERE i_id IN (SELECT i_id FROM items WHERE i_category = 'Music')
  AND item = i_key AND day = d_key AND d_year = 2022 AND d_month = 9 AND place = a_key AND a_offset = -5
GROUP BY i_id
ORDER BY 1, 2
LIMIT 100
