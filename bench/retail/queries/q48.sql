-- How many pieces were sold in stores under several alternative conditions?
SELECT sum(ss_quantity) AS pieces
FROM store_sales, stores, demographics, addresses, dates
WHERE s_key = ss_store AND ss_date = d_key AND d_year = 2021 AND cd_key = ss_demographics AND ss_address = a_key
  AND ((cd_marital = 'M' AND ss_price BETWEEN 10 AND 150) OR (cd_marital = 'D' AND ss_price BETWEEN 5 AND 100)
    OR (cd_marital = 'W' AND ss_price BETWEEN 15 AND 200))
  AND ((a_state IN ('TN', 'OH') AND ss_profit BETWEEN 0 AND 20000) OR (a_state IN ('GA', 'TX') AND ss_profit BETWEEN 15 AND 30000)
    OR (a_state = 'CA' AND ss_profit BETWEEN -500 AND 25000))
