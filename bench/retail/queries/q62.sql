-- Which managers have months that differ from their usual month?
SELECT *
FROM (
  SELECT i_manager, d_month, sum(ss_price) AS amount, avg(sum(ss_price)) OVER (PARTITION BY i_manager) AS usual
  FROM items, store_sales, dates, stores
  WHERE ss_item = i_key AND ss_date = d_key AND ss_store = s_key AND d_month_number IN (72, 73, 74, 75, 76, 77, 78, 79, 80, 81, 82, 83)
    AND ((i_category IN ('Books', 'Children', 'Electronics')) OR (i_category IN ('Women', 'Music', 'Men') AND i_class LIKE '%s'))
  GROUP BY i_manager, d_month
)
WHERE CASE WHEN usual > 0 THEN abs(amount - usual) / usual END > 0.1
ORDER BY 1, 4, 3, 2
LIMIT 100
