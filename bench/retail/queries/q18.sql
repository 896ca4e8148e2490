-- What do customers of some birth months buy by catalogue on average, by place and article, with subtotals?
SELECT i_id, a_country, a_state, a_county, avg(cs_quantity) AS quantity, avg(cs_list) AS list, avg(cs_coupon) AS coupon,
  avg(cs_profit) AS profit, avg(c_birth_year) AS born, avg(cd1.cd_dependents) AS dependents
FROM catalog_sales, demographics cd1, demographics cd2, customers, addresses, dates, items
WHERE cs_date = d_key AND cs_item = i_key AND cs_demographics = cd1.cd_key AND cs_customer = c_key
  AND cd1.cd_gender = 'F' AND cd1.cd_education IN ('Unknown', 'College', 'Primary') AND c_demographics = cd2.cd_key
  AND c_address = a_key AND c_birth_month IN (1, 4, 6, 8, 9, 12) AND d_year = 2021 AND a_state IN ('TN', 'GA', 'OH')
GROUP BY ROLLUP (i_id, a_country, a_state, a_county)
ORDER BY 2 NULLS FIRST, 3 NULLS FIRST, 4 NULLS FIRST, 1
LIMIT 100
