-- Subqueries of every kind, correlated and not.

-- name: scalar subquery
SELECT id, (SELECT max(x) FROM beta) AS top FROM alpha

-- name: scalar subquery without rows is NULL
SELECT id, (SELECT max(id) FROM void) AS top, (SELECT id FROM void) AS nothing FROM gamma

-- name: scalar subquery in a condition
SELECT id FROM alpha WHERE x > (SELECT avg(x) FROM beta)

-- name: a scalar subquery with two rows
-- fails: More than one row
SELECT id, (SELECT id FROM beta WHERE k = 3) AS other FROM alpha

-- name: correlated scalar subquery
SELECT id, (SELECT max(b.x) FROM beta b WHERE b.k = a.k) AS top FROM alpha a

-- name: correlated count is zero and not NULL
SELECT id, (SELECT count(*) FROM beta b WHERE b.k = a.k) AS n FROM alpha a

-- name: correlated scalar subquery of one row each
SELECT id, (SELECT c.x FROM gamma c WHERE c.id = a.k) AS x FROM alpha a

-- name: a correlated scalar subquery with two rows
-- fails: More than one row
SELECT id, (SELECT b.id FROM beta b WHERE b.k = a.k) AS other FROM alpha a

-- name: correlated by an inequality
SELECT id, (SELECT count(*) FROM gamma c WHERE c.x < a.x) AS below FROM alpha a

-- name: correlated twice
SELECT id, (SELECT count(*) FROM beta b WHERE b.k = a.k AND b.x > (SELECT avg(c.x) FROM gamma c WHERE c.g = a.g)) AS n FROM alpha a

-- name: exists
SELECT id FROM alpha a WHERE EXISTS (SELECT 1 FROM beta b WHERE b.k = a.k)

-- name: not exists
SELECT id FROM alpha a WHERE NOT EXISTS (SELECT 1 FROM beta b WHERE b.k = a.k)

-- name: exists with a further condition
SELECT id FROM alpha a WHERE EXISTS (SELECT 1 FROM beta b WHERE b.k = a.k AND b.x > a.x)

-- name: exists as a value
SELECT id, EXISTS (SELECT 1 FROM gamma c WHERE c.k = a.k) AS there FROM alpha a

-- name: exists without correlation
SELECT id FROM gamma WHERE EXISTS (SELECT 1 FROM beta WHERE x > 14)

-- name: exists over nothing
SELECT id FROM gamma WHERE EXISTS (SELECT 1 FROM void)

-- name: in a subquery
SELECT id FROM alpha WHERE k IN (SELECT k FROM beta)

-- name: not in a subquery with NULLs is never true
SELECT id FROM alpha WHERE k NOT IN (SELECT k FROM beta)

-- name: not in a subquery without NULLs
SELECT id FROM alpha WHERE k NOT IN (SELECT k FROM beta WHERE k IS NOT NULL AND k > 5)

-- name: not in nothing is always true
SELECT id FROM alpha WHERE k NOT IN (SELECT k FROM void)

-- name: in as a value
SELECT id, k IN (SELECT k FROM gamma WHERE k > 3) AS isin, k IN (SELECT k FROM gamma) AS unsure FROM alpha

-- name: in as a value over nothing
SELECT id, k IN (SELECT k FROM void) AS isin, k NOT IN (SELECT k FROM void) AS notin FROM alpha

-- name: in with a pair
SELECT id FROM alpha WHERE (k, g) IN (SELECT k, g FROM beta)

-- name: correlated in
SELECT id FROM alpha a WHERE k IN (SELECT b.k FROM beta b WHERE b.g = a.g)

-- name: correlated not in
SELECT id FROM alpha a WHERE k NOT IN (SELECT b.k FROM beta b WHERE b.g = a.g)

-- name: correlated in as a value
SELECT id, k IN (SELECT b.k FROM beta b WHERE b.g = a.g) AS isin FROM alpha a

-- name: greater than any
SELECT id FROM alpha WHERE x > ANY (SELECT x FROM gamma WHERE x < 3)

-- name: greater than all
SELECT id FROM alpha WHERE x > ALL (SELECT x FROM gamma WHERE x < 3)

-- name: equal to all of nothing
SELECT id FROM alpha WHERE x = ALL (SELECT x FROM void)

-- name: a subquery in having
SELECT g, count(*) AS n FROM alpha GROUP BY g HAVING count(*) > (SELECT count(*) / 6 FROM beta)

-- name: a subquery in the select list of a group
SELECT g, sum(x) AS total, (SELECT sum(x) FROM alpha) AS whole FROM alpha GROUP BY g

-- name: a subquery inside case
SELECT id, CASE WHEN k IN (SELECT k FROM gamma) THEN 'c' WHEN EXISTS (SELECT 1 FROM beta b WHERE b.k = a.k) THEN 'b' ELSE '-' END AS whose
FROM alpha a

-- name: exists or exists
SELECT id FROM alpha a WHERE EXISTS (SELECT 1 FROM beta b WHERE b.k = a.k AND b.f) OR EXISTS (SELECT 1 FROM gamma c WHERE c.g = a.g AND c.x > 20)

-- name: a nested correlation over two levels
SELECT id FROM alpha a WHERE EXISTS (SELECT 1 FROM beta b WHERE b.k = a.k AND NOT EXISTS (SELECT 1 FROM gamma c WHERE c.k = b.k AND c.g = a.g))

-- name: the greatest of each group
SELECT id, g, x FROM alpha a WHERE x = (SELECT max(b.x) FROM alpha b WHERE b.g = a.g)

-- name: correlated subquery with a limit
SELECT id, (SELECT b.id FROM beta b WHERE b.k = a.k ORDER BY b.id DESC LIMIT 1) AS last FROM alpha a

-- name: correlated subquery with distinct
SELECT id, (SELECT count(DISTINCT b.g) FROM beta b WHERE b.k = a.k) AS kinds FROM alpha a

-- name: correlated subquery that makes a list
-- bags: 2
SELECT id, (SELECT list(b.id) FROM beta b WHERE b.k = a.k) AS ids FROM alpha a

-- name: an array of a subquery
SELECT id, ARRAY(SELECT b.id FROM beta b WHERE b.k = a.k ORDER BY b.id) AS ids FROM alpha a

-- name: correlated subquery with a window
SELECT id, (SELECT max(r) FROM (SELECT row_number() OVER (ORDER BY b.id) AS r FROM beta b WHERE b.k = a.k)) AS n FROM alpha a

-- name: correlated subquery with a set operation
SELECT id, (SELECT count(*) FROM (SELECT b.g FROM beta b WHERE b.k = a.k UNION SELECT c.g FROM gamma c WHERE c.k = a.k)) AS n FROM alpha a

-- name: correlated over a large table
SELECT o_orderkey FROM orders o WHERE o_totalprice > 300000 AND (SELECT count(*) FROM lineitem l WHERE l.l_orderkey = o.o_orderkey) > 5

-- name: parts cheaper than their average supply cost times ten
SELECT p_partkey FROM part p WHERE p_retailprice < 10 * (SELECT avg(ps_supplycost) FROM partsupp WHERE ps_partkey = p.p_partkey) AND p_size = 10

-- name: subqueries in from, nested
SELECT n, count(*) AS times FROM (SELECT k, count(*) AS n FROM (SELECT k FROM alpha UNION ALL SELECT k FROM beta) GROUP BY k) GROUP BY n
