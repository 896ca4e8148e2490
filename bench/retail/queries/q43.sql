-- What do stores take on each day of the week?
SELECT s_name, s_id,
  sum(CASE WHEN d_name = 'Sunday' THEN ss_price END) AS sunday, sum(CASE WHEN d_name = 'Monday' THEN ss_price END) AS monday,
  sum(CASE WHEN d_name = 'Tuesday' THEN ss_price END) AS tuesday, sum(CASE WHEN d_name = 'Wednesday' THEN ss_price END) AS wednesday,
  sum(CASE WHEN d_name = 'Thursday' THEN ss_price END) AS thursday, sum(CASE WHEN d_name = 'Friday' THEN ss_price END) AS friday,
  sum(CASE WHEN d_name = 'Saturday' THEN ss_price END) AS saturday
FROM dates, store_sales, stores
WHERE d_key = ss_date AND s_key = ss_store AND s_offset = -5 AND d_year = 2020
GROUP BY s_name, s_id
ORDER BY 1, 2, 3
LIMIT 100
