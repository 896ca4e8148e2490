-- Whose highest purchase on the web grew more than in stores, by customer and year?
WITH spent AS (
  SELECT c_id, c_first, c_last, d_year, max(ss_paid) AS most, 's' AS channel
  FROM customers, store_sales, dates
  WHERE c_key = ss_customer AND ss_date = d_key AND d_year IN (2020, 2021)
  GROUP BY c_id, c_first, c_last, d_year
  UNION ALL
  SELECT c_id, c_first, c_last, d_year, max(ws_paid), 'w'
  FROM customers, web_sales, dates
  WHERE c_key = ws_customer AND ws_date = d_key AND d_year IN (2020, 2021)
  GROUP BY c_id, c_first, c_last, d_year
)
SELECT s2.c_id, s2.c_first, s2.c_last
FROM spent s1, spent s2, spent w1, spent w2
WHERE s2.c_id = s1.c_id AND s1.c_id = w2.c_id AND s1.c_id = w1.c_id AND s1.channel = 's' AND w1.channel = 'w' AND s2.channel = 's' AND w2.channel = 'w'
  AND s1.d_year = 2020 AND s2.d_year = 2021 AND w1.d_year = 2020 AND w2.d_year = 2021 AND s1.most > 0 AND w1.most > 0
  AND w2.most / w1.most > s2.most / s1.most
ORDER BY 2, 1, 3
LIMIT 100
