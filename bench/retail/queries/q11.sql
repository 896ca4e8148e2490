-- Whose spending on the web grew more than their spending in stores?
WITH spent AS (
  SELECT c_id, c_preferred, d_year, 's' AS channel, sum(ss_list_total - ss_discount) AS total
  FROM customers JOIN store_sales ON c_key = ss_customer JOIN dates ON ss_date = d_key
  GROUP BY c_id, c_preferred, d_year
  UNION ALL
  SELECT c_id, c_preferred, d_year, 'w', sum(ws_list_total - ws_discount)
  FROM customers JOIN web_sales ON c_key = ws_customer JOIN dates ON ws_date = d_key
  GROUP BY c_id, c_preferred, d_year
)
SELECT s2.c_id, s2.c_preferred
FROM spent s1
JOIN spent s2 ON s1.c_id = s2.c_id AND s1.channel = 's' AND s2.channel = 's' AND s1.d_year = 2021 AND s2.d_year = 2022
JOIN spent w1 ON s1.c_id = w1.c_id AND w1.channel = 'w' AND w1.d_year = 2021 AND w1.total > 0
JOIN spent w2 ON s1.c_id = w2.c_id AND w2.channel = 'w' AND w2.d_year = 2022
WHERE CASE WHEN w1.total > 0 THEN w2.total / w1.total ELSE 0 END > CASE WHEN s1.total > 0 THEN s2.total / s1.total ELSE 0 END
ORDER BY 1, 2
LIMIT 100
