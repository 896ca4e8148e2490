-- What do the channels sell and lose within a month, by store, call centre and page, with subtotals?
WITH ss AS (
  SELECT s_key, sum(ss_sales) AS sales, sum(ss_profit) AS profit FROM store_sales, dates, stores
  WHERE ss_date = d_key AND d_date BETWEEN DATE '2021-08-04' AND DATE '2021-08-04' + INTERVAL 30 DAY AND ss_store = s_key GROUP BY s_key
), sr AS (
  SELECT s_key, sum(sr_amount) AS returned, sum(sr_loss) AS loss FROM store_returns, dates, stores
  WHERE sr_date = d_key AND d_date BETWEEN DATE '2021-08-04' AND DATE '2021-08-04' + INTERVAL 30 DAY AND sr_store = s_key GROUP BY s_key
), cs AS (
  SELECT cs_centre, sum(cs_sales) AS sales, sum(cs_profit) AS profit FROM catalog_sales, dates
  WHERE cs_date = d_key AND d_date BETWEEN DATE '2021-08-04' AND DATE '2021-08-04' + INTERVAL 30 DAY GROUP BY cs_centre
), cr AS (
  SELECT sum(cr_amount) AS returned, sum(cr_loss) AS loss FROM catalog_returns, dates
  WHERE cr_date = d_key AND d_date BETWEEN DATE '2021-08-04' AND DATE '2021-08-04' + INTERVAL 30 DAY
), ws AS (
  SELECT page_key, sum(ws_sales) AS sales, sum(ws_profit) AS profit FROM web_sales, dates, web_pages
  WHERE ws_date = d_key AND d_date BETWEEN DATE '2021-08-04' AND DATE '2021-08-04' + INTERVAL 30 DAY AND ws_page = page_key GROUP BY page_key
), wr AS (
  SELECT page_key, sum(wr_amount) AS returned, sum(wr_loss) AS loss FROM web_returns, dates, web_pages
  WHERE wr_date = d_key AND d_date BETWEEN DATE '2021-08-04' AND DATE '2021-08-04' + INTERVAL 30 DAY AND wr_page = page_key GROUP BY page_key
)
SELECT channel, id, sum(sales) AS sales, sum(returned) AS returned, sum(profit) AS profit
FROM (
  SELECT 'store' AS channel, ss.s_key AS id, sales, coalesce(returned, 0) AS returned, profit - coalesce(loss, 0) AS profit
  FROM ss LEFT JOIN sr ON ss.s_key = sr.s_key
  UNION ALL
  SELECT 'catalogue', cs_centre, sales, returned, profit - loss FROM cs, cr
  UNION ALL
  SELECT 'web', ws.page_key, sales, coalesce(returned, 0), profit - coalesce(loss, 0) FROM ws LEFT JOIN wr ON ws.page_key = wr.page_key
)
GROUP BY ROLLUP (channel, id)
ORDER BY 1 NULLS FIRST, 2 NULLS FIRST, 3
LIMIT 150
