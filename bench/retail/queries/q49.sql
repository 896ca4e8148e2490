-- Which articles have the highest shares of returns in each channel, by number and by value?
WITH web AS (
  SELECT ws_item AS item, sum(coalesce(wr_quantity, 0)) / sum(ws_quantity) AS pieces, sum(coalesce(wr_amount, 0)) / sum(ws_paid) AS value
  FROM web_sales LEFT JOIN web_returns ON ws_order = wr_order AND ws_item = wr_item JOIN dates ON ws_date = d_key
  WHERE ws_paid > 0 AND d_year = 2021
  GROUP BY ws_item
), shop AS (
  SELECT ss_item AS item, sum(coalesce(sr_quantity, 0)) / sum(ss_quantity) AS pieces, sum(coalesce(sr_amount, 0)) / sum(ss_paid) AS value
  FROM store_sales LEFT JOIN store_returns ON ss_ticket = sr_ticket AND ss_item = sr_item JOIN dates ON ss_date = d_key
  WHERE ss_paid > 0 AND d_year = 2021
  GROUP BY ss_item
)
SELECT 'web' AS channel, item, round(pieces, 6) AS share, pieces_place, value_place
FROM (SELECT item, pieces, rank() OVER (ORDER BY pieces DESC) AS pieces_place, rank() OVER (ORDER BY value DESC) AS value_place FROM web)
WHERE pieces_place <= 10 OR value_place <= 10
UNION
SELECT 'store', item, round(pieces, 6), pieces_place, value_place
FROM (SELECT item, pieces, rank() OVER (ORDER BY pieces DESC) AS pieces_place, rank() OVER (ORDER BY value DESC) AS value_place FROM shop)
WHERE pieces_place <= 10 OR value_place <= 10
ORDER BY 1, 4, 5, 2
LIMIT 100
