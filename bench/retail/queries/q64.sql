-- Which articles take at most a tenth of the average article of their store?
SELECT s_name, i_description, c.revenue, i_price, i_cost, i_brand
FROM stores, items,
  (SELECT ss_store AS store, avg(revenue) AS mean
    FROM (SELECT ss_store, ss_item, sum(ss_price) AS revenue FROM store_sales, dates WHERE ss_date = d_key AND d_month_number BETWEEN 72 AND 83
      GROUP BY ss_store, ss_item)
    GROUP BY ss_store) b,
  (SELECT ss_store AS store, ss_item AS item, sum(ss_price) AS revenue FROM store_sales, dates
    WHERE ss_date = d_key AND d_month_number BETWEEN 72 AND 83 GROUP BY ss_store, ss_item) c
WHERE b.store = c.store AND c.revenue <= 0.1 * b.mean AND s_key = c.store AND i_key = c.item
ORDER BY 1, 2, 3, 4, 5, 6
LIMIT 100
