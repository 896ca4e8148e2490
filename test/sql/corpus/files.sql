-- Tables of several files, Hive folders, CSV.

-- name: hive folders give columns
SELECT * FROM sales

-- name: hive folders filtered
SELECT id, amount, year FROM sales WHERE year = 2021 AND region = 'north'

-- name: hive folders grouped
SELECT year, region, count(*) AS n, sum(amount) AS s FROM sales GROUP BY year, region

-- name: hive columns joined
SELECT s.id, t.w FROM sales s JOIN (VALUES (2020, 'then'), (2022, 'now')) t(y, w) ON s.year = t.y WHERE s.id < 50

-- name: hive folders where none fits
SELECT * FROM sales WHERE year = 1999

-- name: files with different columns
SELECT * FROM drift

-- name: files with different columns, grouped
SELECT flag, count(*) AS n, count(name) AS names, sum(score) AS s, sum(id) AS ids FROM drift GROUP BY flag

-- name: files with different columns, joined with themselves
SELECT x.id, y.name FROM drift x JOIN drift y ON x.id = y.id + 50

-- name: a csv file
SELECT * FROM cities

-- name: a csv file grouped and joined
SELECT country, count(*) AS n, sum(people) AS people FROM cities LEFT JOIN (VALUES ('France', 1)) t(c, x) ON country = c GROUP BY country

-- name: a csv file counted
SELECT count(*) AS n, count(city) AS named, max(founded) AS last FROM cities

-- name: two files of a table with all their rows
SELECT count(*) AS n, count(DISTINCT o_orderkey) AS kinds, min(o_orderkey) AS lo, max(o_orderkey) AS hi FROM orders

-- name: a count of a table
SELECT count(*) AS n FROM lineitem

-- name: a count of nothing
SELECT count(*) AS n FROM empty

-- name: a row of each file format joined
SELECT d.id, c.city, a.id AS other FROM documents d JOIN (SELECT city, row_number() OVER (ORDER BY city NULLS LAST) AS r FROM cities) c ON d.id = c.r JOIN alpha a ON a.id = d.id

-- name: what a table looks like
DESCRIBE SELECT id, amount FROM sales

-- name: a summary of a table
SELECT column_name, column_type, min, max, count FROM (SUMMARIZE gamma)
