-- Window functions.

-- name: row number in partitions
SELECT id, k, row_number() OVER (PARTITION BY k ORDER BY id) AS r FROM nulls

-- name: row number over everything
SELECT id, row_number() OVER (ORDER BY id DESC) AS r FROM nulls

-- name: rank, dense rank, percent rank, cume dist, ntile
SELECT id, rank() OVER w AS a, dense_rank() OVER w AS b, percent_rank() OVER w AS c, cume_dist() OVER w AS d FROM nulls
WINDOW w AS (PARTITION BY s ORDER BY j NULLS FIRST)

-- name: ntile in a total order
SELECT id, ntile(7) OVER (ORDER BY id) AS a, ntile(3) OVER (PARTITION BY b ORDER BY id) AS c FROM nulls

-- name: lag and lead
SELECT id, lag(id) OVER w AS a, lead(id) OVER w AS b, lag(id, 3, -1) OVER w AS c, lead(s, 2) OVER w AS d FROM nulls WINDOW w AS (PARTITION BY k ORDER BY id)

-- name: first, last and nth value
SELECT id, first_value(id) OVER w AS a, last_value(id) OVER w AS b, nth_value(id, 3) OVER w AS c, first_value(v IGNORE NULLS) OVER w AS d
FROM nulls WINDOW w AS (PARTITION BY k ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)

-- name: a running total
SELECT id, k, sum(id) OVER (PARTITION BY k ORDER BY id) AS s FROM nulls

-- name: a running total over everything
SELECT id, sum(id) OVER (ORDER BY id) AS s, count(v) OVER (ORDER BY id) AS n FROM nulls

-- name: totals of partitions beside the rows
SELECT id, k, sum(v) OVER (PARTITION BY k) AS s, avg(m) OVER (PARTITION BY k) AS a, count(*) OVER () AS n FROM nulls

-- name: frames of rows
SELECT id, sum(id) OVER (ORDER BY id ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING) AS s,
  min(v) OVER (PARTITION BY b ORDER BY id ROWS BETWEEN CURRENT ROW AND 3 FOLLOWING) AS lo FROM nulls

-- name: frames of ranges
SELECT id, sum(id) OVER (ORDER BY id RANGE BETWEEN 5 PRECEDING AND 5 FOLLOWING) AS s,
  count(*) OVER (PARTITION BY s ORDER BY d RANGE BETWEEN INTERVAL 3 DAY PRECEDING AND CURRENT ROW) AS n FROM nulls WHERE d IS NOT NULL

-- name: frames of groups
SELECT id, count(*) OVER (PARTITION BY b ORDER BY j GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW) AS n FROM nulls

-- name: frames with an exclusion
SELECT id, sum(id) OVER (PARTITION BY k ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT ROW) AS s,
  count(*) OVER (PARTITION BY k ORDER BY j ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE TIES) AS n FROM nulls

-- name: windows over different partitions
SELECT id, row_number() OVER (PARTITION BY k ORDER BY id) AS a, row_number() OVER (PARTITION BY s ORDER BY id) AS b,
  sum(id) OVER (PARTITION BY k, s) AS c FROM nulls

-- name: a window with a filter
SELECT id, count(*) FILTER (WHERE b) OVER (PARTITION BY k) AS n, sum(v) FILTER (WHERE v > 0) OVER (PARTITION BY k ORDER BY id) AS s FROM nulls

-- name: distinct in a window
SELECT id, count(DISTINCT s) OVER (PARTITION BY k) AS n FROM nulls

-- name: a window over groups
SELECT k, count(*) AS n, sum(count(*)) OVER (ORDER BY k NULLS FIRST) AS running, rank() OVER (ORDER BY count(*) DESC) AS r FROM nulls GROUP BY k

-- name: a window over nothing
SELECT id, row_number() OVER (ORDER BY id) AS r, sum(v) OVER () AS s FROM empty

-- name: a window over a join
SELECT a.id, b.id AS other, row_number() OVER (PARTITION BY a.k ORDER BY a.id, b.id) AS r FROM alpha a JOIN beta b ON a.k = b.k

-- name: qualify
SELECT id, k FROM nulls QUALIFY row_number() OVER (PARTITION BY k ORDER BY id DESC) <= 2

-- name: qualify with rank and a condition
SELECT id, k, v FROM nulls WHERE v IS NOT NULL QUALIFY rank() OVER (PARTITION BY k ORDER BY v DESC) = 1

-- name: qualify by a named window of a group
SELECT k, s, count(*) AS n FROM nulls GROUP BY k, s QUALIFY max(count(*)) OVER (PARTITION BY k) = count(*)

-- name: the newest event of each user
SELECT user_id, id, ts FROM events QUALIFY row_number() OVER (PARTITION BY user_id ORDER BY ts DESC, id DESC) = 1

-- name: time between events
SELECT id, user_id, ts - lag(ts) OVER (PARTITION BY user_id ORDER BY ts, id) AS since FROM events WHERE user_id < 10

-- name: moving mean by time
SELECT id, avg(amount) OVER (PARTITION BY user_id ORDER BY ts RANGE BETWEEN INTERVAL 1 DAY PRECEDING AND CURRENT ROW) AS m FROM events WHERE user_id < 20

-- name: medians in a window
SELECT id, median(id) OVER (PARTITION BY k) AS m, mode(b) OVER (PARTITION BY id % 3) IS NOT NULL AS there FROM nulls

-- name: a list in a window
SELECT id, list(id) OVER (PARTITION BY k ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS l FROM nulls

-- name: the share of an order in its customer's total
SELECT o_orderkey, o_totalprice / sum(o_totalprice) OVER (PARTITION BY o_custkey) AS share FROM orders WHERE o_custkey < 200

-- name: fill and leads with expressions
SELECT id, coalesce(lead(id) OVER (ORDER BY id) - id, 0) AS gap, id - first_value(id) OVER (PARTITION BY b ORDER BY id) AS since FROM nulls

-- name: ranked, the first rows of each group
SELECT kind, id, amount FROM events QUALIFY row_number() OVER (PARTITION BY kind ORDER BY amount DESC, id) <= 3

-- name: ranked, the first rows of all
SELECT id FROM events QUALIFY row_number() OVER (ORDER BY amount DESC NULLS LAST, id) < 6

-- name: ranked, with equal ranks
SELECT kind, amount, id FROM events QUALIFY rank() OVER (PARTITION BY kind ORDER BY amount DESC) <= 2

-- name: ranked, the second distinct value
SELECT kind, amount FROM events QUALIFY dense_rank() OVER (PARTITION BY kind ORDER BY amount) = 2

-- name: ranked, and filtered by something else as well
SELECT kind, id FROM events QUALIFY row_number() OVER (PARTITION BY kind ORDER BY id) <= 4 AND id % 2 = 0

-- name: ranked, and the rank itself
SELECT kind, id, r FROM (SELECT kind, id, row_number() OVER (PARTITION BY kind ORDER BY amount, id) AS r FROM events) WHERE r <= 3 AND r <> 2

-- name: ranked, none
SELECT kind, id FROM events QUALIFY row_number() OVER (PARTITION BY kind ORDER BY id) <= 0
