-- How much stock is there at the end of each month, by warehouse and by category, averaged over the months?
WITH ends AS (
  SELECT max(d_key) AS day, d_month_number AS month
  FROM dates
  WHERE d_year IN (2020, 2021) AND d_key IN (SELECT inv_date FROM inventory)
  GROUP BY d_month_number
), monthly AS (
  SELECT month, w_name, i_category, sum(inv_stock) AS stock
  FROM inventory JOIN ends ON inv_date = day JOIN warehouses ON inv_warehouse = w_key JOIN items ON inv_item = i_key
  GROUP BY month, w_name, i_category
)
SELECT w_name, i_category, grouping(w_name, i_category) AS level, count(DISTINCT month) AS months, sum(stock) / count(DISTINCT month) AS mean, max(stock) AS most
FROM monthly
GROUP BY GROUPING SETS ((w_name, i_category), (w_name), (i_category), ())
ORDER BY 3, 1 NULLS FIRST, 2 NULLS FIRST, 5
