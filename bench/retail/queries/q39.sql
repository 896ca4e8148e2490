-- Of which articles does the stock of a warehouse vary more than usual in two months that follow each other?
WITH stock AS (
  SELECT w_key, i_key, d_month, stddev_samp(inv_stock) AS deviation, avg(inv_stock) AS mean
  FROM inventory, items, warehouses, dates
  WHERE inv_item = i_key AND inv_warehouse = w_key AND inv_date = d_key AND d_year = 2021
  GROUP BY w_key, i_key, d_month
), varied AS (
  SELECT w_key, i_key, d_month, mean, deviation / mean AS ratio
  FROM stock
  WHERE CASE mean WHEN 0 THEN 0 ELSE deviation / mean END > 0.5
)
SELECT a.w_key, a.i_key, a.d_month, a.mean, a.ratio, b.d_month AS next, b.mean AS next_mean, b.ratio AS next_ratio
FROM varied a JOIN varied b ON a.i_key = b.i_key AND a.w_key = b.w_key AND b.d_month = a.d_month + 1
WHERE a.d_month BETWEEN 1 AND 6
ORDER BY 1, 2, 3, 6
LIMIT 500
