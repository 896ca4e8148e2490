-- Which customers paid more than half of the average for returned articles of one colour, where they were born abroad?
WITH paid AS (
  SELECT c_last, c_first, s_name, a_state, s_state, i_colour, i_price, i_manager, sum(ss_paid) AS paid
  FROM store_sales, store_returns, stores, items, customers, addresses
  WHERE ss_ticket = sr_ticket AND ss_item = sr_item AND ss_customer = c_key AND ss_item = i_key AND ss_store = s_key
    AND c_address = a_key AND upper(c_birth_country) <> upper(a_country) AND s_market BETWEEN 1 AND 8
  GROUP BY c_last, c_first, s_name, a_state, s_state, i_colour, i_price, i_manager
)
SELECT c_last, c_first, s_name, sum(paid) AS total
FROM paid
WHERE i_colour IN ('amber', 'blue', 'olive', 'white', 'rust', 'lime')
GROUP BY c_last, c_first, s_name
HAVING sum(paid) > (SELECT 0.5 * avg(paid) FROM paid)
ORDER BY 1, 2, 3
LIMIT 100
