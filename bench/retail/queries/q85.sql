-- What do categories and classes take on the web, ranked within each level?
SELECT sum(ws_paid) AS total, i_category, i_class, grouping(i_category) + grouping(i_class) AS level,
  rank() OVER (
    PARTITION BY grouping(i_category) + grouping(i_class), CASE WHEN grouping(i_class) = 0 THEN i_category END ORDER BY sum(ws_paid) DESC
  ) AS place
FROM web_sales, dates, items
WHERE d_month_number BETWEEN 72 AND 83 AND d_key = ws_date AND i_key = ws_item
GROUP BY ROLLUP (i_category, i_class)
ORDER BY 4 DESC, 2 NULLS FIRST, 5, 3
LIMIT 100
