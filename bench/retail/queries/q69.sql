-- Which counties of the best states earn most, ranked within each level?
SELECT sum(ss_profit) AS profit, s_state, s_county, grouping(s_state) + grouping(s_county) AS level,
  rank() OVER (
    PARTITION BY grouping(s_state) + grouping(s_county), CASE WHEN grouping(s_county) = 0 THEN s_state END
    ORDER BY sum(ss_profit) DESC
  ) AS place
FROM store_sales, dates, stores
WHERE d_month_number BETWEEN 72 AND 83 AND d_key = ss_date AND s_key = ss_store
  AND s_state IN (
    SELECT s_state
    FROM (
      SELECT s_state, rank() OVER (PARTITION BY s_state ORDER BY sum(ss_profit) DESC) AS ranking
      FROM store_sales, stores, dates
      WHERE d_month_number BETWEEN 72 AND 83 AND d_key = ss_date AND s_key = ss_store
      GROUP BY s_state
    )
    WHERE ranking <= 5
  )
GROUP BY ROLLUP (s_state, s_county)
ORDER BY 4 DESC, 2 NULLS FIRST, 5, 3
LIMIT 100
