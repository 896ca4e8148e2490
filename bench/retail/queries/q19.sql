-- Which brands sell to customers who live elsewhere than where the store is?
SELECT i_brand_number, i_brand, i_manufacturer, sum(ss_sales) AS amount
FROM dates, store_sales, items, customers, addresses, stores
WHERE d_key = ss_date AND ss_item = i_key AND i_manager BETWEEN 7 AND 14 AND d_month = 11 AND d_year IN (2020, 2021)
  AND ss_customer = c_key AND c_address = a_key AND substr(a_zip, 1, 5) <> substr(s_zip, 1, 5) AND ss_store = s_key
GROUP BY i_brand_number, i_brand, i_manufacturer
ORDER BY 4 DESC, 2, 1, 3
LIMIT 100
