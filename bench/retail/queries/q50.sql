-- After how many days do articles come back to each store?
SELECT s_name, s_id, s_street.town AS town,
  sum(CASE WHEN sr_date - ss_date <= 10 THEN 1 ELSE 0 END) AS within10,
  sum(CASE WHEN sr_date - ss_date > 10 AND sr_date - ss_date <= 30 THEN 1 ELSE 0 END) AS within30,
  sum(CASE WHEN sr_date - ss_date > 30 AND sr_date - ss_date <= 60 THEN 1 ELSE 0 END) AS within60,
  sum(CASE WHEN sr_date - ss_date > 60 THEN 1 ELSE 0 END) AS later
FROM store_sales, store_returns, stores, (SELECT s_key AS place, s_town AS town FROM stores) s_street, dates
WHERE d_year = 2021 AND d_month BETWEEN 6 AND 9 AND ss_ticket = sr_ticket AND ss_item = sr_item AND sr_date = d_key
  AND ss_store = s_key AND place = s_key
GROUP BY s_name, s_id, s_street.town
ORDER BY 1, 2, 3
LIMIT 100
