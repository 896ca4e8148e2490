-- What did the brands of one manufacturer take in November of each year?
SELECT d_year, i_brand_number, i_brand, sum(ss_sales) AS amount
FROM dates JOIN store_sales ON d_key = ss_date JOIN items ON ss_item = i_key
WHERE i_manufacturer BETWEEN 20 AND 29 AND d_month = 11
GROUP BY d_year, i_brand_number, i_brand
ORDER BY 1, 4 DESC, 2, 3
LIMIT 100
