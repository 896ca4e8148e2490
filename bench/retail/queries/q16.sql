-- How many catalogue orders of two months were shipped from several warehouses and never returned?
SELECT count(DISTINCT cs_order) AS orders, sum(cs_ship_cost) AS shipping, sum(cs_profit) AS profit
FROM catalog_sales c, dates, addresses, call_centres
WHERE d_date BETWEEN DATE '2021-03-01' AND DATE '2021-03-01' + INTERVAL 90 DAYS AND cs_ship_date = d_key
  AND cs_ship_address = a_key AND a_state IN ('TN', 'GA') AND cs_centre = cc_key AND cc_class IN ('small', 'large')
  AND EXISTS (SELECT * FROM catalog_sales o WHERE c.cs_order = o.cs_order AND c.cs_warehouse <> o.cs_warehouse)
  AND NOT EXISTS (SELECT * FROM catalog_returns r WHERE c.cs_order = r.cr_order)
