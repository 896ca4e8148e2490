-- Which share of its class does an article have in the catalogue?
SELECT i_id, i_category, i_class, i_price, sum(cs_sales) AS revenue,
  sum(cs_sales) * 100 / sum(sum(cs_sales)) OVER (PARTITION BY i_class, i_category) AS share
FROM catalog_sales JOIN items ON cs_item = i_key JOIN dates ON cs_date = d_key
WHERE i_category IN ('Garden', 'Home', 'Shoes') AND d_date BETWEEN '2020-01-01' AND DATE '2020-01-01' + INTERVAL 60 DAY
GROUP BY i_id, i_category, i_class, i_price
ORDER BY 2, 3, 1, 4
LIMIT 100
