-- How many customers bought in all three channels in the same month of a year?
SELECT count(*) AS customers
FROM (
  SELECT DISTINCT c_last, c_first, d_month FROM store_sales, dates, customers WHERE ss_date = d_key AND ss_customer = c_key AND d_year = 2021
  INTERSECT
  SELECT DISTINCT c_last, c_first, d_month FROM catalog_sales, dates, customers WHERE cs_date = d_key AND cs_customer = c_key AND d_year = 2021
  INTERSECT
  SELECT DISTINCT c_last, c_first, d_month FROM web_sales, dates, customers WHERE ws_date = d_key AND ws_customer = c_key AND d_year = 2021
)
