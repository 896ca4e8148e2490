-- Which share of the sales of a month was in promotions?
SELECT promoted, total, promoted::DECIMAL(18, 4) / total::DECIMAL(18, 4) * 100 AS share
FROM (
  SELECT sum(ss_sales) AS promoted
  FROM store_sales, stores, promotions, dates, customers, addresses, items
  WHERE ss_date = d_key AND ss_store = s_key AND ss_promotion = p_key AND ss_customer = c_key AND a_key = c_address AND ss_item = i_key
    AND a_offset = -5 AND i_category = 'Books' AND (p_mail = 'Y' OR p_email = 'Y' OR p_tv = 'Y') AND d_year = 2021 AND d_month = 11
), (
  SELECT sum(ss_sales) AS total
  FROM store_sales, stores, dates, customers, addresses, items
  WHERE ss_date = d_key AND ss_store = s_key AND ss_customer = c_key AND a_key = c_address AND ss_item = i_key
    AND a_offset = -5 AND i_category = 'Books' AND d_year = 2021 AND d_month = 11
)
ORDER BY 1, 2
