-- What do articles earn and lose that are sold, returned and bought again by catalogue within some months?
SELECT i_id, i_description, s_id, s_name, sum(ss_profit) AS profit, sum(sr_loss) AS loss, sum(cs_profit) AS again
FROM store_sales, store_returns, catalog_sales, dates d1, dates d2, dates d3, stores, items
WHERE d1.d_month BETWEEN 4 AND 12 AND d1.d_key = ss_date AND i_key = ss_item AND s_key = ss_store
  AND ss_customer = sr_customer AND ss_item = sr_item AND ss_ticket = sr_ticket AND sr_date = d2.d_key
  AND sr_customer = cs_customer AND sr_item = cs_item AND cs_date = d3.d_key AND d3.d_date > d1.d_date
GROUP BY i_id, i_description, s_id, s_name
ORDER BY 1, 2, 3, 4
LIMIT 100
