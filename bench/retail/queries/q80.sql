-- Which customers returned more by catalogue than a fifth above the average of their state?
WITH returned AS (
  SELECT cr_customer AS customer, a_state AS state, sum(cr_amount + cr_fee) AS amount
  FROM catalog_returns, dates, addresses
  WHERE cr_date = d_key AND d_year = 2021 AND cr_address = a_key
  GROUP BY cr_customer, a_state
)
SELECT c_id, c_title, c_first, c_last, a_street, a_town, a_zip, r.amount
FROM returned r, addresses, customers
WHERE r.amount > (SELECT avg(amount) * 1.2 FROM returned o WHERE r.state = o.state)
  AND a_key = c_address AND a_state IN ('TN', 'GA', 'OH') AND r.customer = c_key
ORDER BY 1, 2, 3, 4, 5, 6, 7, 8
LIMIT 100
