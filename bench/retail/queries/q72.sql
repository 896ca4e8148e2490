-- Which customers of some households came with one to five things?
SELECT c_last, c_first, c_title, ss_ticket, n
FROM (
  SELECT ss_ticket, ss_customer, count(*) AS n
  FROM store_sales, dates, stores, households
  WHERE ss_date = d_key AND ss_store = s_key AND ss_household = hd_key AND d_day BETWEEN 1 AND 4
    AND hd_potential IN ('1001-5000', '0-500') AND hd_vehicles > 0 AND hd_dependents > hd_vehicles AND d_year IN (2019, 2020, 2021)
    AND s_county IN ('Ash County', 'Bear County', 'Clay County', 'Deer County')
  GROUP BY ss_ticket, ss_customer
) t, customers
WHERE ss_customer = c_key AND n BETWEEN 1 AND 5
ORDER BY 5 DESC, 1, 2, 3, 4
