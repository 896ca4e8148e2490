-- How many web orders were shipped from several warehouses and never returned?
SELECT count(DISTINCT ws_order) AS orders, sum(ws_ship_cost) AS shipping, sum(ws_profit) AS profit
FROM web_sales w, dates, addresses, web_sites
WHERE d_date BETWEEN DATE '2021-02-01' AND DATE '2021-02-01' + INTERVAL 120 DAY AND ws_ship_date = d_key AND ws_ship_address = a_key
  AND a_state = 'TN' AND ws_site = site_key AND site_company IN ('company 0', 'company 1', 'company 3')
  AND EXISTS (SELECT * FROM web_sales o WHERE w.ws_order = o.ws_order AND w.ws_warehouse <> o.ws_warehouse)
  AND NOT EXISTS (SELECT * FROM web_returns r WHERE w.ws_order = r.wr_order)
