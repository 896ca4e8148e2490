-- In which months does a brand sell much more or less than usual in a store, and what about the months around?
WITH monthly AS (
  SELECT i_category, i_brand, s_name, d_year, d_month, sum(ss_price) AS amount,
    avg(sum(ss_price)) OVER (PARTITION BY i_category, i_brand, s_name, d_year) AS usual,
    rank() OVER (PARTITION BY i_category, i_brand, s_name ORDER BY d_year, d_month) AS place
  FROM items, store_sales, dates, stores
  WHERE ss_item = i_key AND ss_date = d_key AND ss_store = s_key
    AND (d_year = 2021 OR (d_year = 2020 AND d_month = 12) OR (d_year = 2022 AND d_month = 1))
  GROUP BY i_category, i_brand, s_name, d_year, d_month
)
SELECT m.i_category, m.i_brand, m.s_name, m.d_year, m.d_month, m.amount, before.amount AS before, after.amount AS after
FROM monthly m, monthly before, monthly after
WHERE m.i_category = before.i_category AND m.i_category = after.i_category AND m.i_brand = before.i_brand AND m.i_brand = after.i_brand
  AND m.s_name = before.s_name AND m.s_name = after.s_name AND m.place = before.place + 1 AND m.place = after.place - 1
  AND m.d_year = 2021 AND m.usual > 0 AND abs(m.amount - m.usual) / m.usual > 0.1
ORDER BY 1, 2, 3, 4, 5
LIMIT 100
