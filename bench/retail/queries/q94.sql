-- How many web orders were shipped from several warehouses and returned?
WITH several AS (
  SELECT a.ws_order, a.ws_warehouse AS first, b.ws_warehouse AS second
  FROM web_sales a, web_sales b
  WHERE a.ws_order = b.ws_order AND a.ws_warehouse <> b.ws_warehouse
)
SELECT count(DISTINCT ws_order) AS orders, sum(ws_ship_cost) AS shipping, sum(ws_profit) AS profit
FROM web_sales w, dates, addresses, web_sites
WHERE d_date BETWEEN DATE '2021-02-01' AND DATE '2021-02-01' + INTERVAL 180 DAY AND ws_ship_date = d_key AND ws_ship_address = a_key
  AND a_state IN ('TN', 'GA', 'OH') AND ws_site = site_key AND site_company IN ('company 0', 'company 1', 'company 2')
  AND w.ws_order IN (SELECT ws_order FROM several)
  AND w.ws_order IN (SELECT wr_order FROM web_returns, several WHERE wr_order = several.ws_order)
