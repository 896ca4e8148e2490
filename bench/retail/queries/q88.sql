-- Which classes of a store have months that differ from their usual month?
SELECT *
FROM (
  SELECT i_category, i_class, i_brand, s_name, d_month, sum(ss_price) AS amount,
    avg(sum(ss_price)) OVER (PARTITION BY i_category, i_brand, s_name) AS usual
  FROM items, store_sales, dates, stores
  WHERE ss_item = i_key AND ss_date = d_key AND ss_store = s_key AND d_year = 2021
    AND ((i_category IN ('Books', 'Electronics', 'Sports') AND i_class IN ('novels', 'phones', 'running'))
      OR (i_category IN ('Men', 'Jewellery', 'Women') AND i_class IN ('shirts', 'rings', 'dresses')))
  GROUP BY i_category, i_class, i_brand, s_name, d_month
)
WHERE CASE WHEN usual <> 0 THEN abs(amount - usual) / usual END > 0.1
ORDER BY 4, 1, 2, 3, 5
LIMIT 100
