-- What is bought on average in stores by some kinds of households, in some states, at some prices?
SELECT avg(ss_quantity) AS quantity, avg(ss_sales) AS sales, avg(ss_cost_total) AS cost, sum(ss_cost_total) AS total
FROM store_sales, stores, demographics, households, addresses, dates
WHERE s_key = ss_store AND ss_date = d_key AND d_year = 2021 AND ss_household = hd_key AND cd_key = ss_demographics
  AND ss_address = a_key AND a_country = 'United States'
  AND ((cd_marital = 'M' AND cd_education = 'College' AND ss_price BETWEEN 10 AND 150 AND hd_dependents > 3)
    OR (cd_marital = 'S' AND cd_education = 'Primary' AND ss_price BETWEEN 5 AND 100 AND hd_dependents < 4)
    OR (cd_marital = 'W' AND ss_price BETWEEN 15 AND 200 AND hd_dependents = 1))
  AND ((a_state IN ('TN', 'GA') AND ss_profit BETWEEN -10000 AND 20000)
    OR (a_state IN ('OH', 'TX', 'CA') AND ss_profit BETWEEN -5000 AND 30000))
