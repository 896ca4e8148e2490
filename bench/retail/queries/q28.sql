-- What are the average, the number and the distinct number of list prices in six bands of quantity?
SELECT *
FROM (SELECT avg(ss_list) AS a1, count(ss_list) AS n1, count(DISTINCT ss_list) AS d1 FROM store_sales
    WHERE ss_quantity BETWEEN 0 AND 5 AND (ss_list BETWEEN 11 AND 21 OR ss_coupon BETWEEN 460 AND 1460 OR ss_cost BETWEEN 14 AND 34)) b1,
  (SELECT avg(ss_list) AS a2, count(ss_list) AS n2, count(DISTINCT ss_list) AS d2 FROM store_sales
    WHERE ss_quantity BETWEEN 6 AND 10 AND (ss_list BETWEEN 91 AND 101 OR ss_coupon BETWEEN 143 AND 1143 OR ss_cost BETWEEN 32 AND 52)) b2,
  (SELECT avg(ss_list) AS a3, count(ss_list) AS n3, count(DISTINCT ss_list) AS d3 FROM store_sales
    WHERE ss_quantity BETWEEN 11 AND 15 AND (ss_list BETWEEN 66 AND 76 OR ss_coupon BETWEEN 92 AND 1092 OR ss_cost BETWEEN 4 AND 24)) b3,
  (SELECT avg(ss_list) AS a4, count(ss_list) AS n4, count(DISTINCT ss_list) AS d4 FROM store_sales
    WHERE ss_quantity BETWEEN 16 AND 20 AND (ss_list BETWEEN 142 AND 152 OR ss_coupon BETWEEN 30 AND 1030 OR ss_cost BETWEEN 8 AND 28)) b4,
  (SELECT avg(ss_list) AS a5, count(ss_list) AS n5, count(DISTINCT ss_list) AS d5 FROM store_sales
    WHERE ss_quantity BETWEEN 21 AND 25 AND (ss_list BETWEEN 35 AND 45 OR ss_coupon BETWEEN 26 AND 1026 OR ss_cost BETWEEN 2 AND 22)) b5,
  (SELECT avg(ss_list) AS a6, count(ss_list) AS n6, count(DISTINCT ss_list) AS d6 FROM store_sales
    WHERE ss_quantity BETWEEN 26 AND 30 AND (ss_list BETWEEN 28 AND 38 OR ss_coupon BETWEEN 1 AND 1001 OR ss_cost BETWEEN 42 AND 62)) b6
