-- What do call centres lose by returns of some groups of people?
SELECT cc_name, cc_manager, cd_marital, cd_education, sum(cr_loss) AS loss
FROM call_centres, catalog_returns, dates, customers, addresses, demographics, households
WHERE cr_centre = cc_key AND cr_date = d_key AND cr_customer = c_key AND cd_key = c_demographics AND hd_key = c_household AND a_key = c_address
  AND d_year = 2021 AND d_month IN (10, 11, 12)
  AND ((cd_marital = 'M' AND cd_education IN ('Unknown', 'College')) OR (cd_marital IN ('W', 'S') AND cd_education IN ('Advanced', 'Primary')))
  AND (hd_potential LIKE '0-%' OR hd_potential LIKE '>%' OR hd_potential LIKE 'U%')
GROUP BY cc_name, cc_manager, cd_marital, cd_education
ORDER BY 5 DESC, 1, 3, 4
