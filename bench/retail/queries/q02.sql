-- How did the sales of the web and the catalogue on each weekday change from one year to the next?
WITH sold AS (
  SELECT ws_date AS day, ws_sales AS amount FROM web_sales
  UNION ALL
  SELECT cs_date, cs_sales FROM catalog_sales
), weekly AS (
  SELECT d_week,
    sum(CASE WHEN d_name = 'Sunday' THEN amount END) AS sunday,
    sum(CASE WHEN d_name = 'Monday' THEN amount END) AS monday,
    sum(CASE WHEN d_name = 'Wednesday' THEN amount END) AS wednesday,
    sum(CASE WHEN d_name = 'Saturday' THEN amount END) AS saturday
  FROM sold JOIN dates ON d_key = day
  GROUP BY d_week
)
SELECT a.d_week, round(a.sunday / b.sunday, 2) AS sunday, round(a.monday / b.monday, 2) AS monday,
  round(a.wednesday / b.wednesday, 2) AS wednesday, round(a.saturday / b.saturday, 2) AS saturday
FROM weekly a JOIN weekly b ON a.d_week = b.d_week - 53
WHERE a.d_week IN (SELECT d_week FROM dates WHERE d_year = 2020)
ORDER BY 1
