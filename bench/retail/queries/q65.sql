-- What do warehouses send by two carriers in each month, by web and by catalogue?
SELECT w_name, w_space, w_town, 'SWIFTPOST,AIRLINE' AS carriers, year, sum(jan) AS jan, sum(jun) AS jun, sum(dec) AS dec,
  sum(jan / w_space) AS jan_by_space, sum(dec_paid) AS dec_paid
FROM (
  SELECT w_name, w_space, w_town, d_year AS year, sum(CASE WHEN d_month = 1 THEN ws_sales * ws_quantity ELSE 0 END) AS jan,
    sum(CASE WHEN d_month = 6 THEN ws_sales * ws_quantity ELSE 0 END) AS jun, sum(CASE WHEN d_month = 12 THEN ws_sales * ws_quantity ELSE 0 END) AS dec,
    sum(CASE WHEN d_month = 12 THEN ws_paid * ws_quantity ELSE 0 END) AS dec_paid
  FROM web_sales, warehouses, dates, times, ship_modes
  WHERE ws_warehouse = w_key AND ws_date = d_key AND ws_time = t_key AND ws_ship_mode = sm_key AND d_year = 2021
    AND t_hour BETWEEN 8 AND 19 AND sm_carrier IN ('SWIFTPOST', 'AIRLINE')
  GROUP BY w_name, w_space, w_town, d_year
  UNION ALL
  SELECT w_name, w_space, w_town, d_year, sum(CASE WHEN d_month = 1 THEN cs_sales * cs_quantity ELSE 0 END),
    sum(CASE WHEN d_month = 6 THEN cs_sales * cs_quantity ELSE 0 END), sum(CASE WHEN d_month = 12 THEN cs_sales * cs_quantity ELSE 0 END),
    sum(CASE WHEN d_month = 12 THEN cs_paid * cs_quantity ELSE 0 END)
  FROM catalog_sales, warehouses, dates, times, ship_modes
  WHERE cs_warehouse = w_key AND cs_date = d_key AND cs_time = t_key AND cs_ship_mode = sm_key AND d_year = 2021
    AND t_hour BETWEEN 8 AND 19 AND sm_carrier IN ('SWIFTPOST', 'AIRLINE')
  GROUP BY w_name, w_space, w_town, d_year
)
GROUP BY w_name, w_space, w_town, year
ORDER BY 1
LIMIT 100
