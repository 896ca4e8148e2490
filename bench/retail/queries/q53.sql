-- Which manufacturers have quarters that differ from their usual quarter?
SELECT *
FROM (
  SELECT i_manufacturer, d_quarter_number, sum(ss_price) AS amount, avg(sum(ss_price)) OVER (PARTITION BY i_manufacturer) AS usual
  FROM items, store_sales, dates, stores
  WHERE ss_item = i_key AND ss_date = d_key AND ss_store = s_key AND d_month_number BETWEEN 72 AND 83
    AND ((i_category IN ('Books', 'Children', 'Electronics') AND i_class IN ('novels', 'school', 'audio', 'phones'))
      OR (i_category IN ('Women', 'Music', 'Men') AND i_class IN ('dresses', 'jazz', 'shirts', 'skirts')))
  GROUP BY i_manufacturer, d_quarter_number
)
WHERE CASE WHEN usual > 0 THEN abs(amount - usual) / usual END > 0.1
ORDER BY 1, 2, 3
LIMIT 100
