-- Who buys in some towns at the beginning of a month, and lives in another?
SELECT c_last, c_first, now.a_town, bought_town, ss_ticket, sales, taxes, list
FROM (
  SELECT ss_ticket, ss_customer, a_town AS bought_town, sum(ss_sales) AS sales, sum(ss_list_total) AS list, sum(ss_tax) AS taxes
  FROM store_sales, dates, stores, households, addresses
  WHERE ss_date = d_key AND ss_store = s_key AND ss_household = hd_key AND ss_address = a_key AND d_day BETWEEN 1 AND 5
    AND (hd_dependents IN (3, 5, 7) OR hd_vehicles = 3) AND d_year IN (2020, 2021, 2022) AND s_town LIKE '%Bridge'
  GROUP BY ss_ticket, ss_customer, ss_address, a_town
) t JOIN customers ON ss_customer = c_key JOIN addresses now ON c_address = now.a_key
WHERE now.a_town <> bought_town
ORDER BY 1, 5, 2, 3, 4
LIMIT 100
