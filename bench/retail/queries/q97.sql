-- Which share of its class does an article have in stores?
SELECT i_id, i_description, i_category, i_class, i_price, sum(ss_sales) AS revenue,
  sum(ss_sales) * 100 / sum(sum(ss_sales)) OVER (PARTITION BY i_class) AS share
FROM store_sales, items, dates
WHERE ss_item = i_key AND i_category IN ('Music', 'Women', 'Jewellery') AND ss_date = d_key AND d_date BETWEEN DATE '2020-12-01' AND DATE '2020-12-31'
GROUP BY i_id, i_description, i_category, i_class, i_price
ORDER BY 3, 4, 1, 2, 5
