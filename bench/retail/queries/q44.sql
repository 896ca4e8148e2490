-- Which articles earn most and least in one store?
WITH means AS (
  SELECT ss_item AS item, avg(ss_profit) AS mean
  FROM store_sales s
  WHERE ss_store = 4
  GROUP BY ss_item
  HAVING avg(ss_profit) > 0.9 * (SELECT avg(ss_profit) FROM store_sales WHERE ss_store = 4 AND ss_address IS NULL)
)
SELECT up.place, best.i_name AS best, worst.i_name AS worst
FROM (SELECT item, row_number() OVER (ORDER BY mean, item) AS place FROM means) up
JOIN (SELECT item, row_number() OVER (ORDER BY mean DESC, item) AS place FROM means) down USING (place)
JOIN items best ON best.i_key = up.item
JOIN items worst ON worst.i_key = down.item
WHERE place <= 10
ORDER BY 1
