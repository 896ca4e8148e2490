-- How many things are sold in each half hour of the morning to families of three kinds?
SELECT *
FROM (SELECT count(*) AS h9 FROM store_sales, households, times, stores WHERE ss_time = t_key AND ss_household = hd_key AND ss_store = s_key
    AND t_hour = 9 AND t_minute < 30 AND ((hd_dependents = 4 AND hd_vehicles <= 6) OR (hd_dependents = 2 AND hd_vehicles <= 4) OR hd_dependents = 0)) a,
  (SELECT count(*) AS h9b FROM store_sales, households, times, stores WHERE ss_time = t_key AND ss_household = hd_key AND ss_store = s_key
    AND t_hour = 9 AND t_minute >= 30 AND ((hd_dependents = 4 AND hd_vehicles <= 6) OR (hd_dependents = 2 AND hd_vehicles <= 4) OR hd_dependents = 0)) b,
  (SELECT count(*) AS h10 FROM store_sales, households, times, stores WHERE ss_time = t_key AND ss_household = hd_key AND ss_store = s_key
    AND t_hour = 10 AND t_minute < 30 AND ((hd_dependents = 4 AND hd_vehicles <= 6) OR (hd_dependents = 2 AND hd_vehicles <= 4) OR hd_dependents = 0)) c,
  (SELECT count(*) AS h10b FROM store_sales, households, times, stores WHERE ss_time = t_key AND ss_household = hd_key AND ss_store = s_key
    AND t_hour = 10 AND t_minute >= 30 AND ((hd_dependents = 4 AND hd_vehicles <= 6) OR (hd_dependents = 2 AND hd_vehicles <= 4) OR hd_dependents = 0)) d,
  (SELECT count(*) AS h11 FROM store_sales, households, times, stores WHERE ss_time = t_key AND ss_household = hd_key AND ss_store = s_key
    AND t_hour = 11 AND t_minute < 30 AND ((hd_dependents = 4 AND hd_vehicles <= 6) OR (hd_dependents = 2 AND hd_vehicles <= 4) OR hd_dependents = 0)) e
