-- What do women without a partner buy by catalogue in promotions without mail or event?
SELECT i_id, avg(cs_quantity) AS quantity, avg(cs_list) AS list, avg(cs_coupon) AS coupon, avg(cs_price) AS price
FROM catalog_sales, demographics, dates, items, promotions
WHERE cs_date = d_key AND cs_item = i_key AND cs_demographics = cd_key AND cs_promotion = p_key
  AND cd_gender = 'F' AND cd_marital IN ('W', 'D', 'S') AND (p_mail = 'N' OR p_event = 'N') AND d_year = 2021
GROUP BY i_id
ORDER BY 1
LIMIT 100
