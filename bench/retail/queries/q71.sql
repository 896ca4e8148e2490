-- Which catalogue orders ask for more than is in stock in the week of the order, with and without promotion?
SELECT i_description, w_name, d1.d_week, sum(CASE WHEN p_key IS NULL THEN 1 ELSE 0 END) AS plain,
  sum(CASE WHEN p_key IS NOT NULL THEN 1 ELSE 0 END) AS promoted, count(*) AS total
FROM catalog_sales
JOIN inventory ON cs_item = inv_item
JOIN warehouses ON w_key = inv_warehouse
JOIN items ON i_key = cs_item
JOIN demographics ON cs_demographics = cd_key
JOIN households ON cs_household = hd_key
JOIN dates d1 ON cs_date = d1.d_key
JOIN dates d2 ON inv_date = d2.d_key
JOIN dates d3 ON cs_ship_date = d3.d_key
LEFT JOIN promotions ON cs_promotion = p_key
LEFT JOIN catalog_returns ON cr_item = cs_item AND cr_order = cs_order
WHERE d1.d_week = d2.d_week AND inv_stock < cs_quantity AND d3.d_date > d1.d_date + 5 AND d1.d_year = 2021
GROUP BY i_description, w_name, d1.d_week
ORDER BY 6 DESC, 1, 2, 3
LIMIT 100
