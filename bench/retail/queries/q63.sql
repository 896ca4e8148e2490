-- Which articles are sold in the same store again a year later at another price, though the catalogue refunds little of them?
WITH refunded AS (
  SELECT cs_item AS item, sum(cs_list_total) AS sale, sum(cr_cash + cr_fee) AS refund
  FROM catalog_sales JOIN catalog_returns ON cs_item = cr_item AND cs_order = cr_order
  GROUP BY cs_item
  HAVING sum(cs_list_total) > 2 * sum(cr_cash + cr_fee)
), sold AS (
  SELECT i_name, i_key, s_name, s_zip, d1.d_year AS year, count(*) AS n, sum(ss_cost) AS cost, sum(ss_list) AS list, sum(ss_coupon) AS coupon
  FROM store_sales, store_returns, refunded, dates d1, stores, customers, demographics cd1, demographics cd2, promotions,
    households hd1, households hd2, addresses ad1, addresses ad2, income_bands ib1, income_bands ib2, items
  WHERE ss_store = s_key AND ss_date = d1.d_key AND ss_customer = c_key AND ss_demographics = cd1.cd_key AND ss_household = hd1.hd_key
    AND ss_address = ad1.a_key AND ss_item = i_key AND ss_item = sr_item AND ss_ticket = sr_ticket AND ss_item = refunded.item
    AND c_demographics = cd2.cd_key AND c_household = hd2.hd_key AND c_address = ad2.a_key AND ss_promotion = p_key
    AND hd1.hd_income = ib1.ib_key AND hd2.hd_income = ib2.ib_key AND cd1.cd_marital <> 'U' AND cd2.cd_education <> 'Unknown'
  GROUP BY i_name, i_key, s_name, s_zip, d1.d_year
)
SELECT a.i_name, a.i_key, a.s_name, a.s_zip, a.n, a.cost, b.n AS later, b.cost AS later_cost
FROM sold a JOIN sold b ON a.i_key = b.i_key AND a.s_name = b.s_name AND a.s_zip = b.s_zip AND b.year > a.year
WHERE b.n <= a.n + 3
ORDER BY 2, 3, 4, 5, 7, 6, 8
LIMIT 100
