-- On which days is the sum of web sales of an article above that of store sales, both summed up from the beginning?
WITH web AS (
  SELECT ws_item AS item, d_date, sum(sum(ws_price)) OVER (PARTITION BY ws_item ORDER BY d_date ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS total
  FROM web_sales JOIN dates ON ws_date = d_key
  WHERE d_month_number BETWEEN 72 AND 83 AND ws_item <= 400
  GROUP BY ws_item, d_date
), shop AS (
  SELECT ss_item AS item, d_date, sum(sum(ss_price)) OVER (PARTITION BY ss_item ORDER BY d_date ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS total
  FROM store_sales JOIN dates ON ss_date = d_key
  WHERE d_month_number BETWEEN 72 AND 83 AND ss_item <= 400
  GROUP BY ss_item, d_date
)
SELECT item, d_date, web_most, store_most
FROM (
  SELECT item, d_date, max(web_total) OVER (PARTITION BY item ORDER BY d_date ROWS UNBOUNDED PRECEDING) AS web_most,
    max(store_total) OVER (PARTITION BY item ORDER BY d_date ROWS UNBOUNDED PRECEDING) AS store_most
  FROM (
    SELECT coalesce(web.item, shop.item) AS item, coalesce(web.d_date, shop.d_date) AS d_date, web.total AS web_total, shop.total AS store_total
    FROM web FULL OUTER JOIN shop ON web.item = shop.item AND web.d_date = shop.d_date
  )
)
WHERE web_most > store_most
ORDER BY 1, 2
LIMIT 100
