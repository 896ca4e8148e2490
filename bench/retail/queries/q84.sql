-- For which reasons do people return what they bought on the web, by several alternative conditions?
SELECT substr(r_text, 1, 20) AS reason, avg(ws_quantity) AS pieces, avg(wr_cash) AS refunded, avg(wr_fee) AS fee
FROM web_sales, web_returns, web_pages, demographics cd1, demographics cd2, addresses, dates, reasons
WHERE ws_page = page_key AND ws_item = wr_item AND ws_order = wr_order AND ws_date = d_key AND d_year BETWEEN 2020 AND 2022
  AND cd1.cd_key = wr_demographics AND cd2.cd_key = ws_demographics AND a_key = wr_address AND r_key = wr_reason
  AND ((cd1.cd_marital = 'M' AND cd1.cd_marital = cd2.cd_marital AND ws_price BETWEEN 5 AND 150)
    OR (cd1.cd_marital = 'S' AND cd1.cd_education = cd2.cd_education AND ws_price BETWEEN 2 AND 100)
    OR (cd1.cd_marital = 'W' AND cd1.cd_marital = cd2.cd_marital AND ws_price BETWEEN 10 AND 200))
  AND ((a_state IN ('TN', 'GA') AND ws_profit BETWEEN -10000 AND 20000) OR (a_state IN ('OH', 'TX') AND ws_profit BETWEEN -15000 AND 30000))
GROUP BY r_text
ORDER BY 1, 2
LIMIT 100
