-- How do the weekly sales of each category run, smoothed over four weeks, and how far from the first and the last week?
WITH weekly AS (
  SELECT i_category, d_week, sum(ss_sales) AS sales
  FROM store_sales JOIN dates ON ss_date = d_key JOIN items ON ss_item = i_key
  WHERE d_year = 2021 AND i_category IS NOT NULL
  GROUP BY i_category, d_week
)
SELECT i_category, d_week, sales, avg(sales) OVER recent AS smoothed, sales - lag(sales) OVER whole AS change,
  first_value(sales) OVER whole AS first, last_value(sales) OVER (PARTITION BY i_category ORDER BY d_week ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS last,
  ntile(4) OVER whole AS quarter
FROM weekly
WINDOW recent AS (PARTITION BY i_category ORDER BY d_week ROWS BETWEEN 3 PRECEDING AND CURRENT ROW), whole AS (PARTITION BY i_category ORDER BY d_week)
ORDER BY 1, 2
