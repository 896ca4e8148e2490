-- In which months does a brand differ from its usual month at a call centre, and what about the months around?
WITH monthly AS (
  SELECT i_category, cc_name, d_year, d_month, sum(cs_price) AS amount,
    avg(sum(cs_price)) OVER (PARTITION BY i_category, cc_name, d_year) AS usual,
    rank() OVER (PARTITION BY i_category, cc_name ORDER BY d_year, d_month) AS place
  FROM items, catalog_sales, dates, call_centres
  WHERE cs_item = i_key AND cs_date = d_key AND cs_centre = cc_key AND d_year BETWEEN 2020 AND 2022
  GROUP BY i_category, cc_name, d_year, d_month
)
SELECT m.i_category, m.cc_name, m.d_year, m.d_month, m.usual, m.amount, before.amount AS before, after.amount AS after
FROM monthly m
JOIN monthly before ON m.i_category = before.i_category AND m.cc_name = before.cc_name AND m.place = before.place + 1
JOIN monthly after ON m.i_category = after.i_category AND m.cc_name = after.cc_name AND m.place = after.place - 1
WHERE m.d_year = 2021 AND m.usual > 0 AND abs(m.amount - m.usual) / m.usual > 0.1
ORDER BY 1, 2, 3, 4
LIMIT 100
