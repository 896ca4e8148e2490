-- Who buys at weekends in another town than the one they live in?
SELECT c_last, c_first, a_town, bought_town, ss_ticket, coupon, profit
FROM (
  SELECT ss_ticket, ss_customer, a_town AS bought_town, sum(ss_coupon) AS coupon, sum(ss_profit) AS profit
  FROM store_sales, dates, stores, households, addresses
  WHERE ss_date = d_key AND ss_store = s_key AND ss_household = hd_key AND ss_address = a_key
    AND (hd_dependents = 4 OR hd_vehicles = 3) AND d_weekday IN (6, 0) AND d_year IN (2020, 2021, 2022)
  GROUP BY ss_ticket, ss_customer, ss_address, a_town
) t, customers, addresses now
WHERE ss_customer = c_key AND c_address = now.a_key AND now.a_town <> bought_town
ORDER BY 1, 2, 3, 4, 5, 6, 7
LIMIT 100
