-- How does the number of web sales in the morning compare with that of the evening?
SELECT morning::DECIMAL(15, 4) / evening::DECIMAL(15, 4) AS ratio
FROM (SELECT count(*) AS morning FROM web_sales, households, times, web_pages
    WHERE ws_time = t_key AND ws_household = hd_key AND ws_page = page_key AND t_hour BETWEEN 8 AND 11 AND hd_dependents BETWEEN 3 AND 8 AND page_characters BETWEEN 2000 AND 7000) am,
  (SELECT count(*) AS evening FROM web_sales, households, times, web_pages
    WHERE ws_time = t_key AND ws_household = hd_key AND ws_page = page_key AND t_hour BETWEEN 14 AND 19 AND hd_dependents BETWEEN 3 AND 8 AND page_characters BETWEEN 2000 AND 7000) pm
ORDER BY 1
