-- How long does shipping from each warehouse take, by kind and web site?
SELECT substr(w_name, 1, 20) AS warehouse, sm_kind, site_name,
  sum(CASE WHEN ws_ship_date - ws_date <= 30 THEN 1 ELSE 0 END) AS within30,
  sum(CASE WHEN ws_ship_date - ws_date > 30 AND ws_ship_date - ws_date <= 60 THEN 1 ELSE 0 END) AS within60,
  sum(CASE WHEN ws_ship_date - ws_date > 60 AND ws_ship_date - ws_date <= 90 THEN 1 ELSE 0 END) AS within90,
  sum(CASE WHEN ws_ship_date - ws_date > 90 THEN 1 ELSE 0 END) AS later
FROM web_sales, warehouses, ship_modes, web_sites, dates
WHERE d_month_number BETWEEN 72 AND 83 AND ws_ship_date = d_key AND ws_warehouse = w_key AND ws_ship_mode = sm_key AND ws_site = site_key
GROUP BY 1, 2, 3
ORDER BY 1, 2, 3
LIMIT 100
