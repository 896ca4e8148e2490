-- Whose spending by catalogue grew more than their spending in stores and on the web?
WITH spent AS (
  SELECT c_id, c_first, c_last, d_year, 's' AS channel, sum(ss_list_total - ss_discount) AS total
  FROM customers JOIN store_sales ON c_key = ss_customer JOIN dates ON ss_date = d_key
  GROUP BY c_id, c_first, c_last, d_year
  UNION ALL
  SELECT c_id, c_first, c_last, d_year, 'c', sum(cs_list_total - cs_discount)
  FROM customers JOIN catalog_sales ON c_key = cs_customer JOIN dates ON cs_date = d_key
  GROUP BY c_id, c_first, c_last, d_year
  UNION ALL
  SELECT c_id, c_first, c_last, d_year, 'w', sum(ws_list_total - ws_discount)
  FROM customers JOIN web_sales ON c_key = ws_customer JOIN dates ON ws_date = d_key
  GROUP BY c_id, c_first, c_last, d_year
)
SELECT s2.c_id, s2.c_first, s2.c_last
FROM spent s1, spent s2, spent c1, spent c2
WHERE s1.c_id = s2.c_id AND s1.c_id = c1.c_id AND s1.c_id = c2.c_id
  AND s1.channel = 's' AND s2.channel = 's' AND c1.channel = 'c' AND c2.channel = 'c'
  AND s1.d_year = 2020 AND s2.d_year = 2021 AND c1.d_year = 2020 AND c2.d_year = 2021
  AND s1.total > 0 AND c1.total > 0
  AND c2.total / c1.total > s2.total / s1.total
ORDER BY 1, 2, 3
LIMIT 100
