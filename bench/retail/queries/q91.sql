-- How much discount was given on the web beyond 1.3 times what is usual for the article?
SELECT sum(ws_discount) AS excess
FROM web_sales w, items, dates
WHERE i_manufacturer BETWEEN 20 AND 50 AND i_key = ws_item AND d_date BETWEEN DATE '2021-01-27' AND DATE '2021-01-27' + INTERVAL 180 DAY AND d_key = ws_date
  AND ws_discount > (
    SELECT 1.3 * avg(ws_discount)
    FROM web_sales, dates
    WHERE ws_item = i_key AND d_date BETWEEN DATE '2021-01-27' AND DATE '2021-01-27' + INTERVAL 180 DAY AND d_key = ws_date
  )
ORDER BY 1
