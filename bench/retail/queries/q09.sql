-- Depending on how often articles are bought in such quantities: what is the average discount, or what is paid?
SELECT
  CASE WHEN (SELECT count(*) FROM store_sales WHERE ss_quantity BETWEEN 1 AND 20) > 1000
    THEN (SELECT avg(ss_discount) FROM store_sales WHERE ss_quantity BETWEEN 1 AND 20)
    ELSE (SELECT avg(ss_paid) FROM store_sales WHERE ss_quantity BETWEEN 1 AND 20) END AS bucket1,
  CASE WHEN (SELECT count(*) FROM store_sales WHERE ss_quantity BETWEEN 21 AND 40) > 100000
    THEN (SELECT avg(ss_discount) FROM store_sales WHERE ss_quantity BETWEEN 21 AND 40)
    ELSE (SELECT avg(ss_paid) FROM store_sales WHERE ss_quantity BETWEEN 21 AND 40) END AS bucket2,
  CASE WHEN (SELECT count(*) FROM store_sales WHERE ss_quantity BETWEEN 41 AND 60) > 1000
    THEN (SELECT avg(ss_discount) FROM store_sales WHERE ss_quantity BETWEEN 41 AND 60)
    ELSE (SELECT avg(ss_paid) FROM store_sales WHERE ss_quantity BETWEEN 41 AND 60) END AS bucket3,
  CASE WHEN (SELECT count(*) FROM store_sales WHERE ss_quantity BETWEEN 61 AND 80) > 1000000
    THEN (SELECT avg(ss_discount) FROM store_sales WHERE ss_quantity BETWEEN 61 AND 80)
    ELSE (SELECT avg(ss_paid) FROM store_sales WHERE ss_quantity BETWEEN 61 AND 80) END AS bucket4
FROM reasons
WHERE r_key = 1
