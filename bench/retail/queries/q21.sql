-- Whose stock changed by no more than a half around a date, by warehouse and article?
SELECT *
FROM (
  SELECT w_name, i_id, sum(CASE WHEN d_date < DATE '2021-03-11' THEN inv_stock ELSE 0 END) AS before,
    sum(CASE WHEN d_date >= DATE '2021-03-11' THEN inv_stock ELSE 0 END) AS after
  FROM inventory, warehouses, items, dates
  WHERE i_price BETWEEN 1 AND 60 AND i_key = inv_item AND inv_warehouse = w_key AND inv_date = d_key
    AND d_date BETWEEN DATE '2021-03-11' - INTERVAL 30 DAY AND DATE '2021-03-11' + INTERVAL 30 DAY
  GROUP BY w_name, i_id
)
WHERE CASE WHEN before > 0 THEN after / before END BETWEEN 0.5 AND 2
ORDER BY 1, 2
LIMIT 100
