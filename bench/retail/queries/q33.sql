-- What did manufacturers of electronics take in one month in all channels together?
WITH s AS (
  SELECT i_manufacturer, sum(ss_sales) AS sales
  FROM store_sales, dates, addresses, items
  WHERE i_manufacturer IN (SELECT i_manufacturer FROM items WHERE i_category = 'Electronics')
    AND ss_item = i_key AND ss_date = d_key AND d_year = 2021 AND d_month = 5 AND ss_address = a_key AND a_offset = -5
  GROUP BY i_manufacturer
), c AS (
  SELECT i_manufacturer, sum(cs_sales) AS sales
  FROM catalog_sales, dates, addresses, items
  WHERE i_manufacturer IN (SELECT i_manufacturer FROM items WHERE i_category = 'Electronics')
    AND cs_item = i_key AND cs_date = d_key AND d_year = 2021 AND d_month = 5 AND cs_address = a_key AND a_offset = -5
  GROUP BY i_manufacturer
), w AS (
  SELECT i_manufacturer, sum(ws_sales) AS sales
  FROM web_sales, dates, addresses, items
  WHERE i_manufacturer IN (SELECT i_manufacturer FROM items WHERE i_category = 'Electronics')
    AND ws_item = i_key AND ws_date = d_key AND d_year = 2021 AND d_month = 5 AND ws_address = a_key AND a_offset = -5
  GROUP BY i_manufacturer
)
SELECT i_manufacturer, sum(sales) AS total
FROM (SELECT * FROM s UNION ALL SELECT * FROM c UNION ALL SELECT * FROM w)
GROUP BY i_manufacturer
ORDER BY 2, 1
LIMIT 100
