-- Of which brands and manufacturers was less sold than the year before, net of returns, in all channels?
WITH sold AS (
  SELECT d_year, i_brand_number, i_class, i_manufacturer, sum(n) AS pieces, sum(amount) AS amount
  FROM (
    SELECT d_year, i_brand_number, i_class, i_manufacturer, cs_quantity - coalesce(cr_quantity, 0) AS n, cs_sales - coalesce(cr_amount, 0.0) AS amount
    FROM catalog_sales JOIN items ON i_key = cs_item JOIN dates ON d_key = cs_date
      LEFT JOIN catalog_returns ON cs_order = cr_order AND cs_item = cr_item
    WHERE i_category = 'Books'
    UNION
    SELECT d_year, i_brand_number, i_class, i_manufacturer, ss_quantity - coalesce(sr_quantity, 0), ss_sales - coalesce(sr_amount, 0.0)
    FROM store_sales JOIN items ON i_key = ss_item JOIN dates ON d_key = ss_date
      LEFT JOIN store_returns ON ss_ticket = sr_ticket AND ss_item = sr_item
    WHERE i_category = 'Books'
    UNION
    SELECT d_year, i_brand_number, i_class, i_manufacturer, ws_quantity - coalesce(wr_quantity, 0), ws_sales - coalesce(wr_amount, 0.0)
    FROM web_sales JOIN items ON i_key = ws_item JOIN dates ON d_key = ws_date
      LEFT JOIN web_returns ON ws_order = wr_order AND ws_item = wr_item
    WHERE i_category = 'Books'
  )
  GROUP BY d_year, i_brand_number, i_class, i_manufacturer
)
SELECT before.d_year AS year_before, now.d_year AS year_now, now.i_brand_number, now.i_class, now.i_manufacturer, before.pieces AS pieces_before,
  now.pieces AS pieces_now, now.pieces - before.pieces AS difference, now.amount - before.amount AS amount
FROM sold now JOIN sold before USING (i_brand_number, i_class, i_manufacturer)
WHERE now.d_year = 2022 AND before.d_year = 2021 AND now.pieces::DECIMAL(17, 2) / before.pieces::DECIMAL(17, 2) < 0.9
ORDER BY 8, 9, 3, 4, 5
LIMIT 100
