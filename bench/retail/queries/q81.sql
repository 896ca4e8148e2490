-- Which articles of a price are in stock and sold in stores?
SELECT i_id, i_description, i_price
FROM items, inventory, dates
WHERE i_price BETWEEN 20 AND 80 AND inv_item = i_key AND d_key = inv_date AND d_date BETWEEN DATE '2021-05-25' AND DATE '2021-07-24'
  AND i_manufacturer IN (SELECT i_manufacturer FROM items WHERE i_colour = 'white') AND inv_stock BETWEEN 100 AND 500
  AND EXISTS (SELECT 1 FROM store_sales WHERE ss_item = i_key)
GROUP BY i_id, i_description, i_price
ORDER BY 1, 2, 3
LIMIT 100
