-- What do brands sell at breakfast and at dinner, in all channels?
SELECT i_brand_number, i_brand, t_hour, t_minute // 15 AS quarter, sum(price) AS amount
FROM items, (
  SELECT ws_sales AS price, ws_item AS item, ws_time AS minute FROM web_sales, dates WHERE d_key = ws_date AND d_month = 11 AND d_year = 2021
  UNION ALL
  SELECT cs_sales, cs_item, cs_time FROM catalog_sales, dates WHERE d_key = cs_date AND d_month = 11 AND d_year = 2021
  UNION ALL
  SELECT ss_sales, ss_item, ss_time FROM store_sales, dates WHERE d_key = ss_date AND d_month = 11 AND d_year = 2021
), times
WHERE item = i_key AND i_manager BETWEEN 1 AND 6 AND minute = t_key AND (t_meal = 'breakfast' OR t_meal = 'dinner')
GROUP BY i_brand_number, i_brand, t_hour, t_minute // 15
ORDER BY 5 DESC, 1, 3, 4
LIMIT 200
