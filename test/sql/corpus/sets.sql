-- Set operations, DISTINCT, ORDER BY and LIMIT.

-- name: union all
SELECT k, g FROM alpha UNION ALL SELECT k, g FROM beta

-- name: union
SELECT k, g FROM alpha UNION SELECT k, g FROM beta

-- name: union of different types
SELECT k FROM alpha UNION SELECT k FROM beta UNION SELECT k FROM gamma

-- name: union by name
SELECT id, k FROM alpha UNION ALL BY NAME SELECT g, id FROM beta

-- name: union with nothing
SELECT k FROM void UNION SELECT k FROM gamma UNION ALL SELECT id FROM void

-- name: intersect
SELECT k FROM alpha INTERSECT SELECT k FROM beta

-- name: intersect all
SELECT k FROM alpha INTERSECT ALL SELECT k FROM beta

-- name: intersect of different types
SELECT k, g FROM beta INTERSECT SELECT k, g FROM gamma

-- name: except
SELECT k FROM beta EXCEPT SELECT k FROM gamma

-- name: except all
SELECT k FROM alpha EXCEPT ALL SELECT k FROM beta

-- name: except nothing
SELECT k FROM gamma EXCEPT SELECT k FROM void

-- name: nothing except something
SELECT k FROM void EXCEPT SELECT k FROM gamma

-- name: set operations within each other
(SELECT k FROM alpha UNION SELECT k FROM beta) EXCEPT (SELECT k FROM gamma INTERSECT SELECT k FROM alpha)

-- name: a set operation of aggregates
SELECT 'a' AS t, count(*) AS n FROM alpha UNION ALL SELECT 'b', count(*) FROM beta UNION ALL SELECT 'v', count(*) FROM void

-- name: keys of large tables
SELECT l_orderkey FROM lineitem WHERE l_quantity > 45 INTERSECT SELECT o_orderkey FROM orders WHERE o_orderpriority = '1-URGENT'

-- name: large tables one after the other
SELECT o_custkey AS k, count(*) AS n FROM (SELECT o_custkey FROM orders UNION ALL SELECT c_custkey FROM customer) GROUP BY 1

-- name: distinct
SELECT DISTINCT k, s FROM nulls

-- name: distinct of everything
SELECT DISTINCT * FROM (SELECT k, b FROM nulls UNION ALL SELECT k, b FROM nulls)

-- name: distinct of nothing
SELECT DISTINCT k FROM empty

-- name: distinct lists and structs
SELECT DISTINCT pair, [i8 % 2] AS l FROM types

-- name: distinct on, in an order
-- order: 1
SELECT DISTINCT ON (k) k, id, s FROM nulls ORDER BY k, id DESC

-- name: distinct on without an order
-- open: 2
SELECT DISTINCT ON (k) k, id FROM nulls

-- name: order by one column
-- order: 1
SELECT id, k FROM nulls ORDER BY id

-- name: order by with ties
-- order: 1
SELECT k, id FROM nulls ORDER BY k

-- name: order by with nulls first and descending
-- order: 1, 2
SELECT k, s, id FROM nulls ORDER BY k DESC NULLS LAST, s ASC NULLS FIRST

-- name: order by an expression that is not selected
-- order: 1
SELECT id FROM nulls ORDER BY -id

-- name: order by text
-- order: 1
SELECT text, id FROM types ORDER BY text

-- name: order by text without regard to case
-- order: 2
SELECT id, lower(g) AS g FROM (SELECT id, CASE WHEN id % 2 = 0 THEN upper(g) ELSE g END AS g FROM alpha) ORDER BY g COLLATE NOCASE

-- name: order by every column
-- order: 1, 2, 3
SELECT k, s, id FROM nulls ORDER BY ALL

-- name: order by floats with not a number
-- order: 1
SELECT f64, id FROM types ORDER BY f64 DESC

-- name: order of a large table
-- order: 1, 2
SELECT l_extendedprice, l_orderkey FROM lineitem WHERE l_quantity = 17 ORDER BY l_extendedprice DESC, l_orderkey

-- name: order by an aggregate
-- order: 2, 1
SELECT k, count(*) AS n FROM nulls GROUP BY k ORDER BY n DESC, k

-- name: an order inside a subquery does not matter
SELECT count(*) AS n, sum(id) AS s FROM (SELECT id FROM nulls ORDER BY v)

-- name: limit in a total order
-- order: 1
SELECT id, s FROM nulls ORDER BY id LIMIT 7

-- name: limit with ties
-- order: 1
-- ties
SELECT k, id FROM nulls ORDER BY k NULLS LAST LIMIT 20

-- name: limit and offset
-- order: 1
SELECT id FROM nulls ORDER BY id LIMIT 5 OFFSET 390

-- name: limit and offset beyond the end
SELECT id FROM nulls ORDER BY id LIMIT 5 OFFSET 4000

-- name: offset without a limit
-- order: 1
SELECT id FROM nulls ORDER BY id OFFSET 380

-- name: limit without an order
-- ties
SELECT id FROM nulls LIMIT 9

-- name: limit of a large table without an order
-- ties
SELECT l_orderkey, l_linenumber FROM lineitem LIMIT 100

-- name: limit zero
SELECT id, s FROM nulls LIMIT 0

-- name: limit in percent
-- ties
SELECT id FROM nulls LIMIT 10%

-- name: limit by a subquery
-- order: 1
SELECT id FROM nulls ORDER BY id LIMIT (SELECT count(*) FROM region)

-- name: limit larger than the table
-- order: 1
SELECT id FROM gamma ORDER BY id LIMIT 1000

-- name: limit of a union
-- order: 1
SELECT id FROM alpha UNION ALL SELECT id + 1000 FROM beta ORDER BY id DESC LIMIT 12

-- name: limits inside and outside
-- order: 1
SELECT id FROM (SELECT id FROM nulls ORDER BY id DESC LIMIT 30) ORDER BY id LIMIT 4

-- name: a limited subquery joined
SELECT a.id, t.id AS other FROM alpha a JOIN (SELECT id, k FROM beta ORDER BY id LIMIT 15) t ON a.k = t.k

-- name: the top of a join
-- order: 1, 2
SELECT o_totalprice, o_orderkey, c_name FROM orders JOIN customer ON o_custkey = c_custkey ORDER BY o_totalprice DESC, o_orderkey LIMIT 15

-- name: the top of groups
-- order: 2, 1
SELECT l_partkey, sum(l_quantity) AS q FROM lineitem GROUP BY l_partkey ORDER BY q DESC, l_partkey LIMIT 10

-- name: a sample with a seed
-- volatile
SELECT id FROM nulls USING SAMPLE reservoir(10 ROWS) REPEATABLE (42)
