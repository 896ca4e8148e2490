-- What did customers spend in stores on what they did not return for one reason?
SELECT ss_customer, sum(spent) AS spent
FROM (
  SELECT ss_item, ss_ticket, ss_customer, CASE WHEN sr_quantity IS NOT NULL THEN (ss_quantity - sr_quantity) * ss_price ELSE ss_quantity * ss_price END AS spent
  FROM store_sales LEFT JOIN store_returns ON sr_item = ss_item AND sr_ticket = ss_ticket, reasons
  WHERE sr_reason = r_key AND r_text IN ('broken', 'late', 'too small')
)
GROUP BY ss_customer
ORDER BY 2, 1
LIMIT 100
