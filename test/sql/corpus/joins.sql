-- Joins of every kind.

-- name: inner join on one key
SELECT a.id, b.id AS other, a.k FROM alpha a JOIN beta b ON a.k = b.k

-- name: inner join with USING
SELECT k, a.id, b.id AS other FROM alpha a JOIN beta b USING (k)

-- name: natural join
SELECT * FROM (SELECT id, k FROM alpha) NATURAL JOIN (SELECT k, x FROM beta)

-- name: inner join on two keys
SELECT a.id, b.id AS other FROM alpha a JOIN beta b ON a.k = b.k AND a.g = b.g

-- name: inner join with a further condition
SELECT a.id, b.id AS other FROM alpha a JOIN beta b ON a.k = b.k AND a.x < b.x

-- name: join of an integer with a decimal key
SELECT a.id, c.id AS other, c.k FROM alpha a JOIN gamma c ON a.k = c.k

-- name: join of a bigint with a decimal key
SELECT b.id, c.id AS other FROM beta b JOIN gamma c ON b.k = c.k

-- name: join of a float with an integer key
SELECT a.id, b.id AS other FROM alpha a JOIN beta b ON a.x = b.k

-- name: join of a date with a timestamp key
SELECT a.id, b.id AS other FROM alpha a JOIN (SELECT id, d::TIMESTAMP AS t FROM beta) b ON a.d = b.t

-- name: join on an expression
SELECT a.id, b.id AS other FROM alpha a JOIN beta b ON a.k + 1 = b.k % 10

-- name: join on text
SELECT a.id, c.id AS other FROM alpha a JOIN gamma c ON a.g = c.g

-- name: join where NULL is a key like others
SELECT a.id, b.id AS other FROM alpha a JOIN beta b ON a.k IS NOT DISTINCT FROM b.k AND a.g = b.g

-- name: left join
SELECT a.id, b.id AS other FROM alpha a LEFT JOIN beta b ON a.k = b.k

-- name: left join with a condition on the left side
SELECT a.id, b.id AS other FROM alpha a LEFT JOIN beta b ON a.k = b.k AND a.f

-- name: left join with a condition on the right side
SELECT a.id, b.id AS other FROM alpha a LEFT JOIN beta b ON a.k = b.k AND b.x > 7

-- name: left join, then rows without a partner
SELECT a.id, a.k FROM alpha a LEFT JOIN beta b ON a.k = b.k WHERE b.id IS NULL

-- name: right join
SELECT a.id, b.id AS other FROM alpha a RIGHT JOIN beta b ON a.k = b.k AND a.x > 0

-- name: full join
SELECT a.id, b.id AS other FROM alpha a FULL JOIN beta b ON a.k = b.k AND a.g = b.g

-- name: full join with USING
SELECT k, a.id, c.id AS other FROM alpha a FULL JOIN gamma c USING (k)

-- name: full join on a key that is never the same
SELECT a.id, b.id AS other FROM alpha a FULL JOIN (SELECT id, k + 1000 AS k FROM beta) b ON a.k = b.k

-- name: left join with nothing
SELECT a.id, v.id AS other FROM alpha a LEFT JOIN void v ON a.k = v.k

-- name: nothing left joined with something
SELECT v.id, a.id AS other FROM void v LEFT JOIN alpha a ON a.k = v.k

-- name: full join with nothing
SELECT a.id, v.id AS other FROM alpha a FULL JOIN void v ON a.k = v.k

-- name: right join with nothing
SELECT a.id, v.id AS other FROM alpha a RIGHT JOIN void v ON a.k = v.k

-- name: inner join with nothing
SELECT a.id, v.id AS other FROM alpha a JOIN void v ON a.k = v.k

-- name: cross join
SELECT c.id, t.n FROM gamma c CROSS JOIN (VALUES (1), (2), (NULL)) t(n)

-- name: cross join of two tables
SELECT count(*) AS n, sum(a.id) AS a, sum(c.id) AS c FROM alpha a, gamma c

-- name: join by a range
SELECT a.id, c.id AS other FROM alpha a JOIN gamma c ON a.x BETWEEN c.x AND c.x + 1

-- name: join by an inequality
SELECT count(*) AS n, sum(a.id * b.id) AS s FROM alpha a JOIN beta b ON a.k < b.k

-- name: left join by an inequality
SELECT a.id, c.id AS other FROM alpha a LEFT JOIN gamma c ON a.x > c.x + 20

-- name: full join by an inequality
SELECT a.id, c.id AS other FROM alpha a FULL JOIN gamma c ON a.x > c.x + 6

-- name: join by not equal
SELECT count(*) AS n FROM alpha a JOIN gamma c ON a.g <> c.g

-- name: join by or
SELECT a.id, c.id AS other FROM alpha a JOIN gamma c ON a.k = c.k OR a.g = c.g

-- name: self join
SELECT a.id, b.id AS other FROM alpha a JOIN alpha b ON a.k = b.k AND a.id < b.id

-- name: join of three tables on the same key
SELECT a.id, b.id AS second, c.id AS third FROM alpha a JOIN beta b ON a.k = b.k JOIN gamma c ON b.k = c.k

-- name: join of four tables on different keys
SELECT a.id, b.id AS second, c.id AS third, n.id AS fourth
FROM alpha a JOIN beta b ON a.k = b.k JOIN gamma c ON b.g = c.g LEFT JOIN nulls n ON n.k = a.k AND n.id < 40

-- name: left joins one after the other
SELECT a.id, b.id AS second, c.id AS third FROM alpha a LEFT JOIN beta b ON a.k = b.k LEFT JOIN gamma c ON b.k = c.k

-- name: a join below a left join
SELECT a.id, x.id AS other FROM alpha a LEFT JOIN (SELECT b.id, b.k FROM beta b JOIN gamma c ON b.k = c.k) x ON a.k = x.k

-- name: semi join
SELECT * FROM alpha a SEMI JOIN beta b ON a.k = b.k

-- name: anti join
SELECT * FROM alpha a ANTI JOIN beta b ON a.k = b.k

-- name: semi join with a further condition
SELECT a.id FROM alpha a SEMI JOIN beta b ON a.k = b.k AND a.x < b.x

-- name: anti join with nothing
SELECT a.id FROM alpha a ANTI JOIN void v ON a.k = v.k

-- name: as-of join
SELECT t.id, t.symbol, t.ts, p.price FROM trades t ASOF JOIN prices p ON t.symbol = p.symbol AND t.ts >= p.ts

-- name: as-of left join
SELECT t.id, t.symbol, p.price FROM trades t ASOF LEFT JOIN prices p ON t.symbol = p.symbol AND t.ts >= p.ts

-- name: as-of join without a key
SELECT t.id, p.price FROM trades t ASOF JOIN (SELECT ts, price FROM prices WHERE symbol = 'AA') p ON t.ts > p.ts

-- name: positional join
SELECT a.id, c.id AS other FROM (SELECT id FROM alpha ORDER BY id) a POSITIONAL JOIN (SELECT id FROM gamma ORDER BY id DESC) c

-- name: lateral join
SELECT a.id, l.id AS nearest FROM alpha a, LATERAL (SELECT b.id FROM beta b WHERE b.k = a.k ORDER BY b.id LIMIT 1) l

-- name: left lateral join
SELECT a.id, l.total FROM alpha a LEFT JOIN LATERAL (SELECT sum(b.x) AS total FROM beta b WHERE b.k = a.k) l ON true

-- name: customers, orders and lines
SELECT c_custkey, o_orderkey, l_linenumber, l_quantity FROM customer JOIN orders ON c_custkey = o_custkey
JOIN lineitem ON l_orderkey = o_orderkey WHERE c_nationkey = 7 AND o_orderdate < DATE '1993-01-01'

-- name: a large table joined with itself
SELECT count(*) AS n, sum(x.l_quantity * y.l_quantity) AS s FROM lineitem x JOIN lineitem y
ON x.l_orderkey = y.l_orderkey AND x.l_linenumber < y.l_linenumber

-- name: left join of customers without orders
SELECT c_custkey, count(o_orderkey) AS n FROM customer LEFT JOIN orders ON c_custkey = o_custkey GROUP BY c_custkey

-- name: full join of aggregates
SELECT o.day, o.n AS orders, l.n AS lines FROM (SELECT o_orderdate AS day, count(*) AS n FROM orders GROUP BY 1) o
FULL JOIN (SELECT l_shipdate AS day, count(*) AS n FROM lineitem GROUP BY 1) l ON o.day = l.day

-- name: right join keeps nations without suppliers
SELECT n_name, s_name FROM supplier RIGHT JOIN nation ON s_nationkey = n_nationkey AND s_acctbal > 5000

-- name: join on a struct
SELECT x.id, y.id AS other FROM types x JOIN types y ON x.pair = y.pair AND x.id < 20 AND y.id < 60

-- name: join on a list
SELECT x.id, y.id AS other FROM types x JOIN types y ON x.list = y.list WHERE x.id < 50

-- name: join on a huge integer
SELECT x.id FROM (SELECT id, i64::HUGEINT * 10 AS h FROM types) x JOIN (SELECT i64::HUGEINT * 10 AS h FROM types WHERE id % 3 = 0) y USING (h)

-- name: join on not a number, infinities and zeros
SELECT x.id, y.id AS other FROM types x JOIN (SELECT id, CASE WHEN f64 = 0 THEN 0.0 ELSE f64 END AS f FROM types) y ON x.f64 = y.f

-- name: join of text without regard to case
SELECT x.id, y.id AS other FROM alpha x JOIN (SELECT id, upper(g) AS g FROM gamma) y ON x.g = y.g COLLATE NOCASE
