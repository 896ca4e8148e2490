-- How are customers composed who bought in stores, but neither by web nor by catalogue?
SELECT cd_gender, cd_marital, cd_education, count(*) AS n1, cd_estimate, count(*) AS n2, cd_credit
FROM customers c, addresses a, demographics
WHERE c.c_address = a.a_key AND a_state IN ('TN', 'GA', 'OH') AND cd_key = c.c_demographics
  AND EXISTS (SELECT * FROM store_sales, dates WHERE c.c_key = ss_customer AND ss_date = d_key AND d_year = 2021 AND d_month BETWEEN 1 AND 6)
  AND NOT EXISTS (SELECT * FROM web_sales, dates WHERE c.c_key = ws_customer AND ws_date = d_key AND d_year = 2021 AND d_month BETWEEN 1 AND 6)
  AND NOT EXISTS (SELECT * FROM catalog_sales, dates WHERE c.c_key = cs_ship_customer AND cs_date = d_key AND d_year = 2021 AND d_month BETWEEN 1 AND 6)
GROUP BY cd_gender, cd_marital, cd_education, cd_estimate, cd_credit
ORDER BY 1, 2, 3, 5, 7
LIMIT 100
