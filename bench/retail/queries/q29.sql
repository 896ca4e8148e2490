-- How many pieces were bought in a store, returned, and bought again by catalogue?
SELECT i_id, s_id, sum(ss_quantity) AS sold, sum(sr_quantity) AS returned, sum(cs_quantity) AS again
FROM store_sales, store_returns, catalog_sales, dates d1, dates d2, dates d3, stores, items
WHERE d1.d_year = 2021 AND d1.d_key = ss_date AND i_key = ss_item AND s_key = ss_store
  AND ss_customer = sr_customer AND ss_item = sr_item AND ss_ticket = sr_ticket
  AND sr_date = d2.d_key AND d2.d_year IN (2021, 2022)
  AND sr_customer = cs_customer AND sr_item = cs_item AND cs_date = d3.d_key AND d3.d_year IN (2021, 2022, 2023)
GROUP BY i_id, s_id
ORDER BY 1, 2
LIMIT 100
