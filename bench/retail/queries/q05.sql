-- What did each store, catalogue page and web site sell, lose by returns and earn within two weeks, with subtotals?
WITH stores_of AS (
  SELECT s_id, sum(sales) AS sales, sum(profit) AS profit, sum(returned) AS returned, sum(loss) AS loss
  FROM (
    SELECT ss_store AS store, ss_date AS day, ss_sales AS sales, ss_profit AS profit, 0 AS returned, 0 AS loss FROM store_sales
    UNION ALL
    SELECT sr_store, sr_date, 0, 0, sr_amount, sr_loss FROM store_returns
  ) JOIN dates ON day = d_key JOIN stores ON store = s_key
  WHERE d_date BETWEEN DATE '2021-08-23' AND DATE '2021-08-23' + INTERVAL 60 DAYS
  GROUP BY s_id
), pages AS (
  SELECT cp_id, sum(sales) AS sales, sum(profit) AS profit, sum(returned) AS returned, sum(loss) AS loss
  FROM (
    SELECT cs_page AS page, cs_date AS day, cs_sales AS sales, cs_profit AS profit, 0 AS returned, 0 AS loss FROM catalog_sales
    UNION ALL
    SELECT cr_page, cr_date, 0, 0, cr_amount, cr_loss FROM catalog_returns
  ) JOIN dates ON day = d_key JOIN catalog_pages ON page = cp_key
  WHERE d_date BETWEEN DATE '2021-08-23' AND DATE '2021-08-23' + INTERVAL 60 DAYS
  GROUP BY cp_id
), sites AS (
  SELECT site_name, sum(sales) AS sales, sum(profit) AS profit, sum(returned) AS returned, sum(loss) AS loss
  FROM (
    SELECT ws_site AS site, ws_date AS day, ws_sales AS sales, ws_profit AS profit, 0 AS returned, 0 AS loss FROM web_sales
    UNION ALL
    SELECT ws_site, wr_date, 0, 0, wr_amount, wr_loss
    FROM web_returns LEFT JOIN web_sales ON wr_item = ws_item AND wr_order = ws_order
  ) JOIN dates ON day = d_key JOIN web_sites ON site = site_key
  WHERE d_date BETWEEN DATE '2021-08-23' AND DATE '2021-08-23' + INTERVAL 60 DAYS
  GROUP BY site_name
)
SELECT channel, id, sum(sales) AS sales, sum(returned) AS returned, sum(profit - loss) AS profit
FROM (
  SELECT 'store' AS channel, 'store ' || s_id AS id, sales, returned, profit, loss FROM stores_of
  UNION ALL
  SELECT 'catalogue', 'page ' || cp_id, sales, returned, profit, loss FROM pages
  UNION ALL
  SELECT 'web', 'site ' || site_name, sales, returned, profit, loss FROM sites
)
GROUP BY ROLLUP (channel, id)
ORDER BY 1 NULLS FIRST, 2 NULLS FIRST, 3
LIMIT 100
