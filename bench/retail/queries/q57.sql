-- Which articles take about the same in all channels within some months?
WITH span AS (SELECT d_date FROM dates WHERE d_month_number BETWEEN 76 AND 81),
s AS (
  SELECT i_key AS item, sum(ss_sales) AS revenue
  FROM store_sales, items, dates
  WHERE ss_item = i_key AND d_date IN (SELECT d_date FROM span) AND ss_date = d_key
  GROUP BY i_key
), c AS (
  SELECT i_key AS item, sum(cs_sales) AS revenue
  FROM catalog_sales, items, dates
  WHERE cs_item = i_key AND d_date IN (SELECT d_date FROM span) AND cs_date = d_key
  GROUP BY i_key
)
SELECT s.item, s.revenue AS store, c.revenue AS catalogue, s.revenue / ((s.revenue + c.revenue) / 2) * 100 AS share
FROM s, c
WHERE s.item = c.item AND s.revenue BETWEEN 0.6 * c.revenue AND 1.67 * c.revenue
ORDER BY 1, 2
LIMIT 100
