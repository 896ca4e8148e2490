-- Which customers of one town with a middle income have returned something?
SELECT c_id AS customer, coalesce(c_last, '') || ', ' || coalesce(c_first, '') AS name, count(*) AS n
FROM customers, addresses, demographics, households, income_bands, store_returns
WHERE a_town IN ('Alder Bridge', 'Alder Hill', 'Birch Bridge', 'Birch Hill') AND c_address = a_key AND ib_low >= 30000 AND ib_high <= 130000
  AND ib_key = hd_income AND cd_key = c_demographics AND hd_key = c_household AND sr_demographics = cd_key
GROUP BY 1, 2
ORDER BY 1, 2
LIMIT 100
