-- Which share of its class does an article have on the web within a month?
SELECT i_id, i_description, i_category, i_class, i_price, sum(ws_sales) AS revenue,
  sum(ws_sales) * 100 / sum(sum(ws_sales)) OVER (PARTITION BY i_class) AS share
FROM web_sales, items, dates
WHERE ws_item = i_key AND i_category IN ('Books', 'Sports', 'Men') AND ws_date = d_key
  AND d_date BETWEEN DATE '2021-02-22' AND DATE '2021-02-22' + INTERVAL 30 DAYS
GROUP BY i_id, i_description, i_category, i_class, i_price
ORDER BY 3, 4, 1, 2, 5
LIMIT 100
