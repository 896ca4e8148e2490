-- What is the margin of categories and classes, ranked within each level?
SELECT sum(ss_profit) / sum(ss_sales) AS margin, i_category, i_class, grouping(i_category) + grouping(i_class) AS level,
  rank() OVER (
    PARTITION BY grouping(i_category) + grouping(i_class), CASE WHEN grouping(i_class) = 0 THEN i_category END
    ORDER BY sum(ss_profit) / sum(ss_sales)
  ) AS place
FROM store_sales, dates, items, stores
WHERE d_year = 2021 AND d_key = ss_date AND i_key = ss_item AND s_key = ss_store AND s_state IN ('TN', 'GA', 'OH')
GROUP BY ROLLUP (i_category, i_class)
ORDER BY 4 DESC, 2 NULLS FIRST, 3 NULLS FIRST, 5
LIMIT 100
