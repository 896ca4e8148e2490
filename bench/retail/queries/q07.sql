-- What is bought by single people with college education in promotions without an event or without mail?
SELECT i_id, avg(ss_quantity) AS quantity, avg(ss_list) AS list, avg(ss_coupon) AS coupon, avg(ss_price) AS price
FROM store_sales, demographics, dates, items, promotions
WHERE ss_date = d_key AND ss_item = i_key AND ss_demographics = cd_key AND ss_promotion = p_key
  AND cd_gender = 'M' AND cd_marital IN ('S', 'D') AND (p_email = 'N' OR p_event = 'N') AND d_year = 2020
GROUP BY i_id
ORDER BY 1
LIMIT 100
