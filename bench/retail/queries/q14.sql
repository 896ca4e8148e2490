-- Which brands, classes and categories sold in all three channels sell above the average of the channels, with subtotals?
WITH in_all AS (
  SELECT i_key AS item
  FROM items, (
    SELECT i_brand_number AS brand, i_class AS class, i_category AS category
    FROM store_sales, items, dates
    WHERE ss_item = i_key AND ss_date = d_key AND d_year BETWEEN 2019 AND 2021
    INTERSECT
    SELECT i_brand_number, i_class, i_category
    FROM catalog_sales, items, dates
    WHERE cs_item = i_key AND cs_date = d_key AND d_year BETWEEN 2019 AND 2021
    INTERSECT
    SELECT i_brand_number, i_class, i_category
    FROM web_sales, items, dates
    WHERE ws_item = i_key AND ws_date = d_key AND d_year BETWEEN 2019 AND 2021
  ) common
  WHERE i_brand_number = brand AND i_class = class AND i_category = category
), average AS (
  SELECT avg(quantity * list) AS amount
  FROM (
    SELECT ss_quantity AS quantity, ss_list AS list FROM store_sales, dates WHERE ss_date = d_key AND d_year BETWEEN 2019 AND 2021
    UNION ALL
    SELECT cs_quantity, cs_list FROM catalog_sales, dates WHERE cs_date = d_key AND d_year BETWEEN 2019 AND 2021
    UNION ALL
    SELECT ws_quantity, ws_list FROM web_sales, dates WHERE ws_date = d_key AND d_year BETWEEN 2019 AND 2021
  )
)
SELECT channel, i_brand_number, i_class, i_category, sum(sales) AS sales, sum(n) AS n
FROM (
  SELECT 'store' AS channel, i_brand_number, i_class, i_category, sum(ss_quantity * ss_list) AS sales, count(*) AS n
  FROM store_sales, items, dates
  WHERE ss_item IN (SELECT item FROM in_all) AND ss_item = i_key AND ss_date = d_key AND d_year = 2021 AND d_month = 11
  GROUP BY i_brand_number, i_class, i_category
  HAVING sum(ss_quantity * ss_list) > (SELECT amount FROM average)
  UNION ALL
  SELECT 'catalogue', i_brand_number, i_class, i_category, sum(cs_quantity * cs_list), count(*)
  FROM catalog_sales, items, dates
  WHERE cs_item IN (SELECT item FROM in_all) AND cs_item = i_key AND cs_date = d_key AND d_year = 2021 AND d_month = 11
  GROUP BY i_brand_number, i_class, i_category
  HAVING sum(cs_quantity * cs_list) > (SELECT amount FROM average)
  UNION ALL
  SELECT 'web', i_brand_number, i_class, i_category, sum(ws_quantity * ws_list), count(*)
  FROM web_sales, items, dates
  WHERE ws_item IN (SELECT item FROM in_all) AND ws_item = i_key AND ws_date = d_key AND d_year = 2021 AND d_month = 11
  GROUP BY i_brand_number, i_class, i_category
  HAVING sum(ws_quantity * ws_list) > (SELECT amount FROM average)
)
GROUP BY ROLLUP (channel, i_brand_number, i_class, i_category)
ORDER BY 1 NULLS FIRST, 2 NULLS FIRST, 3 NULLS FIRST, 4 NULLS FIRST, 5
LIMIT 200
