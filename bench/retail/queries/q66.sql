-- What are the hundred best combinations of article, time and store in each category, over all subtotals?
SELECT *
FROM (
  SELECT i_category, i_class, i_brand, d_year, d_quarter, s_id, sales, rank() OVER (PARTITION BY i_category ORDER BY sales DESC) AS place
  FROM (
    SELECT i_category, i_class, i_brand, d_year, d_quarter, s_id, sum(coalesce(ss_price * ss_quantity, 0)) AS sales
    FROM store_sales, dates, stores, items
    WHERE ss_date = d_key AND ss_item = i_key AND ss_store = s_key AND d_month_number BETWEEN 72 AND 83
    GROUP BY ROLLUP (i_category, i_class, i_brand, d_year, d_quarter, s_id)
  )
)
WHERE place <= 100
ORDER BY 1 NULLS FIRST, 8, 2 NULLS FIRST, 3 NULLS FIRST, 4 NULLS FIRST, 5 NULLS FIRST, 6 NULLS FIRST, 7
LIMIT 200
