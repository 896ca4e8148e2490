-- How do weeks of a store compare with the weeks a year later, by day?
WITH weekly AS (
  SELECT d_week, ss_store AS store,
    sum(CASE WHEN d_weekday = 0 THEN ss_price END) AS sunday, sum(CASE WHEN d_weekday = 1 THEN ss_price END) AS monday,
    sum(CASE WHEN d_weekday = 3 THEN ss_price END) AS wednesday, sum(CASE WHEN d_weekday = 6 THEN ss_price END) AS saturday
  FROM store_sales JOIN dates ON d_key = ss_date
  GROUP BY d_week, ss_store
)
SELECT s_name, s_id, a.d_week, a.sunday / b.sunday AS sunday, a.monday / b.monday AS monday, a.saturday / b.saturday AS saturday
FROM weekly a
JOIN stores ON a.store = s_key
JOIN weekly b ON a.store = b.store AND a.d_week = b.d_week - 52
WHERE a.d_week IN (SELECT d_week FROM dates WHERE d_month_number BETWEEN 60 AND 71)
ORDER BY 1, 2, 3
LIMIT 100
