-- Which customers returned more on the web than a fifth above the average of their state?
WITH returned AS (
  SELECT wr_customer AS customer, a_state AS state, sum(wr_amount) AS amount
  FROM web_returns JOIN dates ON wr_date = d_key JOIN addresses ON wr_address = a_key
  WHERE d_year = 2021
  GROUP BY wr_customer, a_state
)
SELECT c_id, c_title, c_first, c_last, c_preferred, c_birth_country, r.state, r.amount
FROM returned r JOIN customers ON r.customer = c_key
WHERE r.amount > (SELECT 1.2 * avg(amount) FROM returned o WHERE o.state = r.state)
ORDER BY 1, 2, 3, 4, 7, 8
LIMIT 100
