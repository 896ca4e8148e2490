-- How long does shipping of catalogue orders take, by warehouse, kind and call centre?
SELECT substr(w_name, 1, 20) AS warehouse, sm_kind, cc_name,
  sum(CASE WHEN cs_ship_date - cs_date <= 30 THEN 1 ELSE 0 END) AS within30,
  sum(CASE WHEN cs_ship_date - cs_date > 30 AND cs_ship_date - cs_date <= 60 THEN 1 ELSE 0 END) AS within60,
  sum(CASE WHEN cs_ship_date - cs_date > 60 THEN 1 ELSE 0 END) AS later,
  arg_max(cs_order, (cs_ship_date - cs_date, cs_order, cs_item)) AS slowest, median(cs_ship_date - cs_date) AS usual
FROM catalog_sales, warehouses, ship_modes, call_centres, dates
WHERE d_month_number BETWEEN 72 AND 83 AND cs_ship_date = d_key AND cs_warehouse = w_key AND cs_ship_mode = sm_key AND cs_centre = cc_key
GROUP BY 1, 2, 3
ORDER BY 1, 2, 3
LIMIT 100
