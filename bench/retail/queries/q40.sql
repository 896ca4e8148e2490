-- What do warehouses sell by catalogue before and after a date, less what was returned?
SELECT w_state, i_id, sum(CASE WHEN d_date < DATE '2021-06-15' THEN cs_sales - coalesce(cr_cash, 0) ELSE 0 END) AS before,
  sum(CASE WHEN d_date >= DATE '2021-06-15' THEN cs_sales - coalesce(cr_cash, 0) ELSE 0 END) AS after
FROM catalog_sales LEFT JOIN catalog_returns ON cs_order = cr_order AND cs_item = cr_item, warehouses, items, dates
WHERE i_price BETWEEN 10 AND 60 AND i_key = cs_item AND cs_warehouse = w_key AND cs_date = d_key
  AND d_date BETWEEN DATE '2021-06-15' - INTERVAL 30 DAY AND DATE '2021-06-15' + INTERVAL 30 DAY
GROUP BY w_state, i_id
ORDER BY 1, 2
LIMIT 100
