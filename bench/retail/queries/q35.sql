-- How are customers composed who bought in stores and by web or catalogue in three quarters, by state?
SELECT a_state, cd_gender, cd_marital, cd_dependents, count(*) AS n, min(cd_dependents) AS low, max(cd_dependents) AS high,
  avg(cd_dependents) AS mean
FROM customers c, addresses a, demographics
WHERE c.c_address = a.a_key AND cd_key = c.c_demographics
  AND EXISTS (SELECT 1 FROM store_sales, dates WHERE c.c_key = ss_customer AND ss_date = d_key AND d_year = 2022 AND d_quarter < 4)
  AND (EXISTS (SELECT 1 FROM web_sales, dates WHERE c.c_key = ws_customer AND ws_date = d_key AND d_year = 2022 AND d_quarter < 4)
    OR EXISTS (SELECT 1 FROM catalog_sales, dates WHERE c.c_key = cs_ship_customer AND cs_date = d_key AND d_year = 2022 AND d_quarter < 4))
GROUP BY a_state, cd_gender, cd_marital, cd_dependents
ORDER BY 1, 2, 3, 4
LIMIT 100
