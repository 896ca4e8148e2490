-- How many pairs of customer and article are only in stores, only in the catalogue, or in both?
WITH s AS (
  SELECT ss_customer AS customer, ss_item AS item FROM store_sales, dates WHERE ss_date = d_key AND d_month_number BETWEEN 72 AND 83 GROUP BY 1, 2
), c AS (
  SELECT cs_customer AS customer, cs_item AS item FROM catalog_sales, dates WHERE cs_date = d_key AND d_month_number BETWEEN 72 AND 83 GROUP BY 1, 2
)
SELECT sum(CASE WHEN s.customer IS NOT NULL AND c.customer IS NULL THEN 1 ELSE 0 END) AS store,
  sum(CASE WHEN s.customer IS NULL AND c.customer IS NOT NULL THEN 1 ELSE 0 END) AS catalogue,
  sum(CASE WHEN s.customer IS NOT NULL AND c.customer IS NOT NULL THEN 1 ELSE 0 END) AS both
FROM s FULL OUTER JOIN c ON s.customer = c.customer AND s.item = c.item
