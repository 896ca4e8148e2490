-- What do stores, pages and sites earn of dear articles in television promotions, net of returns, with subtotals?
WITH shop AS (
  SELECT s_id AS id, sum(ss_sales) AS sales, sum(coalesce(sr_amount, 0)) AS returned, sum(ss_profit - coalesce(sr_loss, 0)) AS profit
  FROM store_sales LEFT JOIN store_returns ON ss_item = sr_item AND ss_ticket = sr_ticket, dates, stores, items, promotions
  WHERE ss_date = d_key AND d_date BETWEEN DATE '2021-08-23' AND DATE '2021-08-23' + INTERVAL 60 DAY AND ss_store = s_key
    AND ss_item = i_key AND i_price > 50 AND ss_promotion = p_key AND p_tv = 'N'
  GROUP BY s_id
), page AS (
  SELECT cp_id AS id, sum(cs_sales) AS sales, sum(coalesce(cr_amount, 0)) AS returned, sum(cs_profit - coalesce(cr_loss, 0)) AS profit
  FROM catalog_sales LEFT JOIN catalog_returns ON cs_item = cr_item AND cs_order = cr_order, dates, catalog_pages, items, promotions
  WHERE cs_date = d_key AND d_date BETWEEN DATE '2021-08-23' AND DATE '2021-08-23' + INTERVAL 60 DAY AND cs_page = cp_key
    AND cs_item = i_key AND i_price > 50 AND cs_promotion = p_key AND p_tv = 'N'
  GROUP BY cp_id
), site AS (
  SELECT site_name AS id, sum(ws_sales) AS sales, sum(coalesce(wr_amount, 0)) AS returned, sum(ws_profit - coalesce(wr_loss, 0)) AS profit
  FROM web_sales LEFT JOIN web_returns ON ws_item = wr_item AND ws_order = wr_order, dates, web_sites, items, promotions
  WHERE ws_date = d_key AND d_date BETWEEN DATE '2021-08-23' AND DATE '2021-08-23' + INTERVAL 60 DAY AND ws_site = site_key
    AND ws_item = i_key AND i_price > 50 AND ws_promotion = p_key AND p_tv = 'N'
  GROUP BY site_name
)
SELECT channel, id, sum(sales) AS sales, sum(returned) AS returned, sum(profit) AS profit
FROM (
  SELECT 'store' AS channel, 'store' || id AS id, sales, returned, profit FROM shop
  UNION ALL
  SELECT 'catalogue', 'page' || id, sales, returned, profit FROM page
  UNION ALL
  SELECT 'web', 'site' || id, sales, returned, profit FROM site
)
GROUP BY ROLLUP (channel, id)
ORDER BY 1 NULLS FIRST, 2 NULLS FIRST, 3
LIMIT 100
