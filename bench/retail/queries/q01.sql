-- Which customers returned more to a store than a fifth above the average customer of that store?
WITH returned AS (
  SELECT sr_customer AS customer, sr_store AS store, sum(sr_amount) AS amount
  FROM store_returns JOIN dates ON sr_date = d_key
  WHERE d_year = 2021
  GROUP BY sr_customer, sr_store
)
SELECT c_id, s_name, r.amount
FROM returned r JOIN stores ON s_key = r.store JOIN customers ON c_key = r.customer
WHERE s_state IN ('TN', 'GA')
  AND r.amount > (SELECT avg(amount) * 1.2 FROM returned o WHERE o.store = r.store)
ORDER BY 1, 2, 3
LIMIT 100
