-- How many customers of one month's offers spend how much near their home in the months after?
WITH those AS (
  SELECT DISTINCT c_key, c_address
  FROM (
    SELECT cs_date AS day, cs_customer AS customer, cs_item AS item FROM catalog_sales
    UNION ALL
    SELECT ws_date, ws_customer, ws_item FROM web_sales
  ), items, dates, customers
  WHERE day = d_key AND item = i_key AND i_category = 'Electronics' AND c_key = customer AND d_month = 12 AND d_year = 2020
), spent AS (
  SELECT c_key, sum(ss_sales) AS amount
  FROM those, store_sales, addresses, stores, dates
  WHERE c_address = a_key AND a_state = s_state AND ss_date = d_key AND c_key = ss_customer
    AND d_month_number BETWEEN (SELECT DISTINCT d_month_number + 1 FROM dates WHERE d_year = 2020 AND d_month = 12)
      AND (SELECT DISTINCT d_month_number + 12 FROM dates WHERE d_year = 2020 AND d_month = 12)
  GROUP BY c_key
)
SELECT (amount / 5000)::INTEGER AS segment, count(*) AS n, (amount / 5000)::INTEGER * 5000 AS base
FROM spent
GROUP BY 1, 3
ORDER BY 1, 2
LIMIT 100
