-- How many things are sold in the evening to families of seven?
SELECT count(*) AS n
FROM store_sales, households, times, stores
WHERE ss_time = t_key AND ss_household = hd_key AND ss_store = s_key AND t_hour = 20 AND t_minute < 45 AND hd_dependents BETWEEN 5 AND 7 AND s_name LIKE 'Store %'
