-- Which articles are made by manufacturers who offer some colours, sizes and units?
SELECT DISTINCT i_name
FROM items i
WHERE i_manufacturer BETWEEN 10 AND 60
  AND (
    SELECT count(*)
    FROM items
    WHERE i_manufacturer = i.i_manufacturer
      AND ((i_category = 'Women' AND i_colour IN ('amber', 'blue', 'cyan', 'olive') AND i_unit IN ('each', 'box', 'pair'))
        OR (i_category = 'Men' AND i_colour IN ('black', 'grey', 'navy', 'tan') AND i_size IN ('small', 'medium', 'any'))
        OR (i_category = 'Home' AND i_colour IN ('white', 'red', 'teal', 'sand')))
  ) > 0
ORDER BY 1
LIMIT 100
