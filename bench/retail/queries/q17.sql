-- How do quantities vary of what was bought in a store, returned, and bought again by catalogue?
SELECT i_id, i_description, s_state, count(ss_quantity) AS sold, avg(ss_quantity) AS sold_mean,
  stddev_samp(ss_quantity) AS sold_deviation, stddev_samp(ss_quantity) / avg(ss_quantity) AS sold_ratio,
  count(sr_quantity) AS returned, avg(sr_quantity) AS returned_mean, count(cs_quantity) AS again, avg(cs_quantity) AS again_mean
FROM store_sales, store_returns, catalog_sales, dates d1, dates d2, dates d3, stores, items
WHERE d1.d_year BETWEEN 2019 AND 2022 AND d1.d_key = ss_date AND i_key = ss_item AND s_key = ss_store
  AND ss_customer = sr_customer AND ss_item = sr_item AND ss_ticket = sr_ticket
  AND sr_date = d2.d_key AND d2.d_year BETWEEN 2019 AND 2023
  AND sr_customer = cs_customer AND sr_item = cs_item AND cs_date = d3.d_key AND d3.d_year BETWEEN 2019 AND 2023
GROUP BY i_id, i_description, s_state
ORDER BY 1, 2, 3
LIMIT 100
