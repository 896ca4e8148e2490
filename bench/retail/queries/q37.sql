-- Which articles of a price are in stock and sold by catalogue?
SELECT i_id, i_description, i_price
FROM items, inventory, dates, catalog_sales
WHERE i_price BETWEEN 20 AND 90 AND inv_item = i_key AND d_key = inv_date AND d_date BETWEEN DATE '2021-02-01' AND DATE '2021-04-01'
  AND i_manufacturer BETWEEN 1 AND 60 AND inv_stock BETWEEN 100 AND 500 AND cs_item = i_key
GROUP BY i_id, i_description, i_price
ORDER BY 1, 2, 3
LIMIT 100
