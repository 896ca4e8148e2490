-- What do young families buy on average in stores, by article and state with subtotals?
SELECT i_id, s_state, grouping(s_state) AS is_total, avg(ss_quantity) AS quantity, avg(ss_list) AS list, avg(ss_coupon) AS coupon
FROM store_sales, demographics, dates, stores, items
WHERE ss_date = d_key AND ss_item = i_key AND ss_store = s_key AND ss_demographics = cd_key
  AND cd_gender = 'M' AND cd_marital = 'M' AND d_year = 2022 AND s_state IN ('TN', 'GA', 'OH', 'TX')
GROUP BY ROLLUP (i_id, s_state)
ORDER BY 1 NULLS LAST, 2 NULLS LAST, 3
LIMIT 100
