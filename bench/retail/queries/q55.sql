-- What did articles of three colours take in one month in all channels?
WITH wanted AS (SELECT i_id FROM items WHERE i_colour IN ('silver', 'teal', 'pink', 'sand', 'plum', 'blue')),
s AS (
  SELECT i_id, sum(ss_sales) AS sales
  FROM store_sales, dates, addresses, items
  WHERE i_id IN (FROM wanted) AND ss_item = i_key AND ss_date = d_key AND d_year = 2021 AND d_month IN (2, 3) AND ss_address = a_key
  GROUP BY i_id
), c AS (
  SELECT i_id, sum(cs_sales) AS sales
  FROM catalog_sales, dates, addresses, items
  WHERE i_id IN (FROM wanted) AND cs_item = i_key AND cs_date = d_key AND d_year = 2021 AND d_month IN (2, 3) AND cs_address = a_key
  GROUP BY i_id
), w AS (
  SELECT i_id, sum(ws_sales) AS sales
  FROM web_sales, dates, addresses, items
  WHERE i_id IN (FROM wanted) AND ws_item = i_key AND ws_date = d_key AND d_year = 2021 AND d_month IN (2, 3) AND ws_address = a_key
  GROUP BY i_id
)
SELECT i_id, sum(sales) AS total
FROM (FROM s UNION ALL FROM c UNION ALL FROM w)
GROUP BY i_id
ORDER BY 2, 1
LIMIT 100
