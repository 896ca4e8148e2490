-- What do large families spend on Mondays in large stores?
SELECT c_last, c_first, substr(s_town, 1, 30) AS town, ss_ticket, amount, profit
FROM (
  SELECT ss_ticket, ss_customer, s_town, sum(ss_coupon) AS amount, sum(ss_profit) AS profit
  FROM store_sales, dates, stores, households
  WHERE ss_date = d_key AND ss_store = s_key AND ss_household = hd_key AND (hd_dependents = 6 OR hd_vehicles > 2) AND d_weekday = 1
    AND d_year IN (2020, 2021, 2022) AND s_employees BETWEEN 200 AND 295
  GROUP BY ss_ticket, ss_customer, ss_address, s_town
) t JOIN customers ON ss_customer = c_key
ORDER BY 1, 2, 3, 6, 4, 5
LIMIT 100
