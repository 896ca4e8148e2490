-- In which states do at least ten customers buy articles that cost a fifth more than the average of their category?
SELECT a_state, count(*) AS bought
FROM addresses, customers, store_sales, dates, items i
WHERE a_key = c_address AND c_key = ss_customer AND ss_date = d_key AND ss_item = i_key
  AND d_month_number = (SELECT DISTINCT d_month_number FROM dates WHERE d_year = 2021 AND d_month = 1)
  AND i.i_price > 1.2 * (SELECT avg(j.i_price) FROM items j WHERE j.i_category = i.i_category)
GROUP BY a_state
HAVING count(*) >= 2
ORDER BY 2, 1
LIMIT 100
