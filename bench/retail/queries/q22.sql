-- How much stock is there on average, by brand, class and category with subtotals?
SELECT i_category, i_class, i_brand, avg(inv_stock) AS stock
FROM inventory JOIN dates ON inv_date = d_key JOIN items ON inv_item = i_key
WHERE d_month_number BETWEEN 72 AND 83
GROUP BY ROLLUP (i_category, i_class, i_brand)
ORDER BY 1 NULLS FIRST, 2 NULLS FIRST, 3 NULLS FIRST, 4
LIMIT 150
