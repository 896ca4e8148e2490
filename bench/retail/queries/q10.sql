-- How are customers of some counties composed who bought in a store and also by web or catalogue?
SELECT cd_gender, cd_marital, cd_education, count(*) AS n, cd_estimate, count(*) AS n2, cd_credit, count(*) AS n3
FROM customers c, addresses a, demographics
WHERE c.c_address = a.a_key AND cd_key = c.c_demographics AND a_county IN ('Ash County', 'Bear County', 'Clay County')
  AND EXISTS (SELECT * FROM store_sales, dates WHERE c.c_key = ss_customer AND ss_date = d_key AND d_year = 2021)
  AND (
    EXISTS (SELECT * FROM web_sales, dates WHERE c.c_key = ws_customer AND ws_date = d_key AND d_year = 2021)
    OR EXISTS (SELECT * FROM catalog_sales, dates WHERE c.c_key = cs_customer AND cs_date = d_key AND d_year = 2021)
  )
GROUP BY cd_gender, cd_marital, cd_education, cd_estimate, cd_credit
ORDER BY 1, 2, 3, 5, 7
LIMIT 100
