-- Common table expressions.

-- name: a common table used once
WITH t AS (SELECT k, count(*) AS n FROM alpha GROUP BY k) SELECT * FROM t WHERE n > 5

-- name: a common table used twice
WITH t AS (SELECT k, count(*) AS n FROM alpha GROUP BY k) SELECT x.k, x.n, y.n AS other FROM t x JOIN t y ON x.n = y.n

-- name: a materialised common table used three times
WITH t AS MATERIALIZED (SELECT k, sum(x) AS s FROM alpha GROUP BY k)
SELECT k, s FROM t WHERE s > (SELECT avg(s) FROM t) AND k IN (SELECT k FROM t WHERE k % 2 = 0)

-- name: a common table that is not materialised
WITH t AS NOT MATERIALIZED (SELECT * FROM alpha WHERE f) SELECT a.id, b.id AS other FROM t a JOIN t b ON a.k = b.k

-- name: a common table that nobody uses
WITH t AS (SELECT * FROM alpha) SELECT count(*) AS n FROM beta

-- name: common tables over each other
WITH a AS (SELECT k, x FROM alpha), b AS (SELECT k, sum(x) AS s FROM a GROUP BY k), c AS (SELECT a.k, a.x, b.s FROM a JOIN b ON a.k = b.k)
SELECT k, max(x / s) AS share FROM c WHERE s > 0 GROUP BY k

-- name: a materialised common table over a large one
WITH t AS MATERIALIZED (SELECT l_orderkey, sum(l_quantity) AS q FROM lineitem GROUP BY 1)
SELECT (SELECT count(*) FROM t) AS n, (SELECT max(q) FROM t) AS most, count(*) AS large FROM t WHERE q > 200

-- name: a materialised common table in a union
WITH t AS MATERIALIZED (SELECT k, g FROM beta WHERE x > 3) SELECT k FROM t UNION ALL SELECT k FROM t WHERE g = 'g1' EXCEPT ALL SELECT k FROM t WHERE g = 'g2'

-- name: a common table with named columns
WITH t(a, b) AS (SELECT id, k FROM gamma) SELECT a + b AS s FROM t

-- name: a common table inside a subquery
SELECT id FROM alpha WHERE k IN (WITH t AS (SELECT k FROM beta WHERE x > 10) SELECT k FROM t)

-- name: a correlated common table
SELECT id, (WITH t AS (SELECT x FROM beta b WHERE b.k = a.k) SELECT max(x) FROM t) AS top FROM alpha a

-- name: counting by recursion
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 50) SELECT n, n * n AS square FROM t

-- name: a tree walked by recursion
WITH RECURSIVE t AS (SELECT id, parent, 0 AS depth, name AS path FROM tree WHERE parent IS NULL
  UNION ALL SELECT c.id, c.parent, t.depth + 1, t.path || '/' || c.name FROM tree c JOIN t ON c.parent = t.id)
SELECT * FROM t

-- name: a recursion without duplicates
WITH RECURSIVE t(n) AS (SELECT 1 UNION SELECT (n * 2) % 11 FROM t) SELECT n FROM t

-- name: a recursion joined and grouped
WITH RECURSIVE t AS (SELECT id, id AS root FROM tree WHERE parent = 0 UNION ALL SELECT c.id, t.root FROM tree c JOIN t ON c.parent = t.id)
SELECT root, count(*) AS size FROM t GROUP BY root

-- name: a recursion beside a large table
WITH RECURSIVE days(d) AS (SELECT DATE '1995-01-01' UNION ALL SELECT d + 1 FROM days WHERE d < DATE '1995-01-31')
SELECT d::DATE AS day, count(o_orderkey) AS n FROM days LEFT JOIN orders ON o_orderdate = d GROUP BY 1

-- name: a non-deterministic common table used twice
-- volatile
WITH t AS MATERIALIZED (SELECT id FROM nulls LIMIT 10) SELECT a.id FROM t a JOIN t b ON a.id = b.id

-- name: a volatile common table is one and the same for all its users
WITH t AS MATERIALIZED (SELECT id, random() AS r FROM nulls) SELECT count(*) AS n FROM t a JOIN t b ON a.id = b.id AND a.r = b.r
