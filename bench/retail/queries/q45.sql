-- What is sold on the web to some zip codes, or of some articles?
SELECT a_zip, a_town, sum(ws_price) AS amount
FROM web_sales, customers, addresses, dates, items
WHERE ws_customer = c_key AND c_address = a_key AND ws_item = i_key
  AND (substr(a_zip, 1, 2) IN ('10', '13', '22', '30') OR i_id IN (SELECT i_id FROM items WHERE i_key IN (2, 3, 5, 7, 11, 13, 17, 19, 23, 29)))
  AND ws_date = d_key AND d_quarter = 2 AND d_year = 2021
GROUP BY a_zip, a_town
ORDER BY 1, 2
LIMIT 100
