-- What is sold by catalogue to some zip codes, to some states or in large amounts?
SELECT a_zip, sum(cs_price) AS amount
FROM catalog_sales, customers, addresses, dates
WHERE cs_customer = c_key AND c_address = a_key
  AND (substr(a_zip, 1, 3) IN ('100', '118', '135', '152', '203') OR a_state IN ('CA', 'WA') OR cs_price > 200)
  AND cs_date = d_key AND d_quarter = 1 AND d_year = 2021
GROUP BY a_zip
ORDER BY 1
LIMIT 100
