-- How much discount was given by catalogue beyond 1.3 times what is usual for the article?
SELECT sum(cs_discount) AS excess
FROM catalog_sales c, items, dates
WHERE i_manufacturer BETWEEN 40 AND 60 AND i_key = c.cs_item AND d_date BETWEEN DATE '2021-01-01' AND DATE '2021-12-31' AND d_key = c.cs_date
  AND c.cs_discount > (
    SELECT 1.3 * avg(o.cs_discount)
    FROM catalog_sales o, dates
    WHERE o.cs_item = i_key AND d_date BETWEEN DATE '2021-01-01' AND DATE '2021-12-31' AND d_key = o.cs_date
  )
