-- Which customers came with long shopping lists at the beginning or the end of a month?
SELECT c_last, c_first, c_title, c_preferred, ss_ticket, n
FROM (
  SELECT ss_ticket, ss_customer, count(*) AS n
  FROM store_sales, dates, stores, households
  WHERE ss_date = d_key AND ss_store = s_key AND ss_household = hd_key AND (d_day BETWEEN 1 AND 5 OR d_day BETWEEN 25 AND 28)
    AND hd_potential IN ('>10000', 'Unknown', '0-500') AND hd_vehicles > 0
    AND CASE WHEN hd_vehicles > 0 THEN hd_dependents / hd_vehicles END > 1 AND d_year IN (2020, 2021, 2022)
  GROUP BY ss_ticket, ss_customer
) JOIN customers ON ss_customer = c_key
WHERE n BETWEEN 8 AND 15
ORDER BY 1, 2, 3, 4 DESC, 5
LIMIT 1000
