-- What do stores earn whose zip code begins like those where many preferred customers live?
SELECT s_name, sum(ss_profit) AS profit
FROM store_sales, dates, stores, (
  SELECT DISTINCT z FROM (
    SELECT substr(a_zip, 1, 3) AS z FROM addresses WHERE substr(a_zip, 1, 2) IN ('10', '18', '27', '35', '44', '52')
    INTERSECT
    SELECT z FROM (
      SELECT substr(a_zip, 1, 3) AS z, count(*) AS n
      FROM addresses JOIN customers ON a_key = c_address
      WHERE c_preferred = 'Y'
      GROUP BY 1
      HAVING count(*) > 3
    )
  )
) near
WHERE ss_store = s_key AND ss_date = d_key AND d_quarter = 2 AND d_year = 2020 AND substr(s_zip, 1, 2) = substr(near.z, 1, 2)
GROUP BY s_name
ORDER BY 1
LIMIT 100
