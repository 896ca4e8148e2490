-- How much of what customers bought and kept was bought in stores and not elsewhere?
WITH web AS (
  SELECT d_year AS year, ws_item AS item, ws_customer AS customer, sum(ws_quantity) AS pieces, sum(ws_cost_total) AS cost
  FROM web_sales LEFT JOIN web_returns ON wr_order = ws_order AND ws_item = wr_item JOIN dates ON ws_date = d_key
  WHERE wr_order IS NULL
  GROUP BY d_year, ws_item, ws_customer
), catalogue AS (
  SELECT d_year AS year, cs_item AS item, cs_customer AS customer, sum(cs_quantity) AS pieces, sum(cs_cost_total) AS cost
  FROM catalog_sales LEFT JOIN catalog_returns ON cr_order = cs_order AND cs_item = cr_item JOIN dates ON cs_date = d_key
  WHERE cr_order IS NULL
  GROUP BY d_year, cs_item, cs_customer
), shop AS (
  SELECT d_year AS year, ss_item AS item, ss_customer AS customer, sum(ss_quantity) AS pieces, sum(ss_cost_total) AS cost
  FROM store_sales LEFT JOIN store_returns ON sr_ticket = ss_ticket AND ss_item = sr_item JOIN dates ON ss_date = d_key
  WHERE sr_ticket IS NULL
  GROUP BY d_year, ss_item, ss_customer
)
SELECT shop.customer, shop.item, round(shop.pieces / (coalesce(web.pieces, 0) + coalesce(catalogue.pieces, 0)), 2) AS ratio,
  shop.pieces, shop.cost, coalesce(web.pieces, 0) + coalesce(catalogue.pieces, 0) AS elsewhere
FROM shop
LEFT JOIN web ON web.year = shop.year AND web.item = shop.item AND web.customer = shop.customer
LEFT JOIN catalogue ON catalogue.year = shop.year AND catalogue.item = shop.item AND catalogue.customer = shop.customer
WHERE coalesce(web.pieces, 0) + coalesce(catalogue.pieces, 0) > 0 AND shop.year = 2021
ORDER BY 1, 2, 4 DESC, 5 DESC
LIMIT 100
