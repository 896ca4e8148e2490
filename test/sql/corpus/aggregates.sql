-- Aggregates, grouping, having, filters, grouping sets.

-- name: aggregates over everything
SELECT count(*) AS n, count(k) AS nk, sum(k) AS s, min(v) AS lo, max(v) AS hi, avg(m) AS mean FROM nulls

-- name: aggregates over nothing
SELECT count(*) AS n, count(k) AS nk, sum(k) AS s, min(v) AS lo, max(s) AS hi, avg(m) AS mean, bool_and(b) AS a, list(id) AS l FROM empty

-- name: grouped aggregates over nothing
SELECT k, count(*) AS n, sum(v) AS s FROM empty GROUP BY k

-- name: aggregates of nothing but NULL
SELECT count(none) AS n, sum(none) AS s, min(none) AS lo, avg(none) AS mean, count(DISTINCT none) AS kinds FROM nulls

-- name: groups by one key, NULL is a group
SELECT k, count(*) AS n, sum(j) AS s, min(id) AS first FROM nulls GROUP BY k

-- name: groups by two keys
SELECT k, s, count(*) AS n, avg(v) AS mean FROM nulls GROUP BY k, s

-- name: groups by an expression
SELECT id % 10 AS last, count(*) AS n FROM nulls GROUP BY id % 10

-- name: groups by position and by all
SELECT k, s, max(id) AS last FROM nulls GROUP BY ALL

-- name: groups without an aggregate
SELECT k FROM nulls GROUP BY k

-- name: an aggregate that is not selected
SELECT k FROM nulls GROUP BY k HAVING count(*) > 50

-- name: having over everything
SELECT sum(id) AS s FROM nulls HAVING count(*) > 1000

-- name: groups by every type
SELECT bool, u8 % 3 AS m, count(*) AS n, sum(i64) AS s FROM types WHERE id > 1 GROUP BY bool, u8 % 3

-- name: groups by a float with not a number and two zeros
SELECT f64, count(*) AS n FROM (SELECT f64 FROM types WHERE id < 10 UNION ALL SELECT f64 FROM types WHERE id < 10 UNION ALL SELECT 0.0) GROUP BY f64

-- name: groups by a decimal, a date and a list
SELECT d4, day, list, count(*) AS n FROM types WHERE id < 40 GROUP BY d4, day, list

-- name: groups by a struct
SELECT pair, count(*) AS n FROM types GROUP BY pair

-- name: many groups
SELECT l_orderkey, count(*) AS n, sum(l_quantity) AS q FROM lineitem GROUP BY l_orderkey

-- name: few groups of a large table
SELECT l_returnflag, l_linestatus, count(*) AS n, sum(l_extendedprice) AS s, avg(l_discount) AS d FROM lineitem GROUP BY 1, 2

-- name: a sum of bigints is a huge integer
SELECT sum(i64) AS a, sum(u64) AS b, sum(i32) AS c, sum(i64) FILTER (id > 1) AS d FROM types

-- name: a sum of huge integers
SELECT id % 3 AS g, sum(i64::HUGEINT * 1000000000) AS s, min(i64::HUGEINT * 3) AS lo FROM types WHERE id > 1 GROUP BY 1

-- name: sums of decimals
SELECT sum(d4) AS a, sum(d9) AS b, sum(d18) AS c, avg(d4) AS d, avg(d9) AS e, avg(d18) AS f FROM types

-- name: sums and means of decimals at their limits
SELECT id % 2 AS g, sum(d38) AS s, avg(d38) AS m, min(d38) AS lo, max(d38) AS hi FROM types GROUP BY 1

-- name: sums of floats
SELECT sum(f32) AS a, sum(f64) AS b, avg(f32) AS c, avg(f64) AS d FROM types WHERE id > 10

-- name: sums with not a number and infinity
SELECT id % 2 AS g, sum(f64) AS s, min(f64) AS lo, max(f64) AS hi, avg(f64) AS m FROM types WHERE id < 5 GROUP BY 1

-- name: least and greatest of every type
SELECT min(bool) AS a, max(i8) AS b, min(text) AS c, max(bytes) AS d, min(day) AS e, max(moment) AS f, min(zoned) AS g, max(span) AS h,
  min(uid) AS i, max(list) AS j, min(pair) AS k, max(u64) AS l, min(clock) AS m FROM types

-- name: logical and bitwise aggregates
SELECT k, bool_and(b) AS a, bool_or(b) AS o, bit_and(j) AS ba, bit_or(j) AS bo, bit_xor(id) AS bx FROM nulls GROUP BY k

-- name: variance and deviation
SELECT k, var_samp(v) AS a, var_pop(v) AS b, stddev_samp(v) AS c, stddev_pop(v) AS d, stddev(j) AS e FROM nulls GROUP BY k

-- name: variance of one value and of none
SELECT id, var_samp(v) AS a, var_pop(v) AS b FROM nulls WHERE id < 8 GROUP BY id

-- name: correlation and regression
SELECT corr(v, id) AS a, covar_pop(v, id) AS b, covar_samp(v, id) AS c, regr_slope(v, id) AS d, regr_intercept(v, id) AS e, regr_count(v, j) AS f,
  regr_r2(v, id) AS g FROM nulls

-- name: count distinct
SELECT count(DISTINCT k) AS a, count(DISTINCT s) AS b, count(DISTINCT v) AS c FROM nulls

-- name: count distinct in groups
SELECT s, count(DISTINCT k) AS a, count(DISTINCT j) AS b, count(*) AS n FROM nulls GROUP BY s

-- name: distinct in other aggregates
SELECT b, sum(DISTINCT k) AS a, avg(DISTINCT v) AS c, list_sort(list(DISTINCT j)) AS l FROM nulls GROUP BY b

-- name: aggregates with a filter
SELECT k, count(*) FILTER (WHERE b) AS yes, count(*) FILTER (WHERE NOT b) AS no, sum(v) FILTER (WHERE v > 0) AS plus, avg(m) FILTER (s = 'a') AS mean
FROM nulls GROUP BY k

-- name: median, quantiles and mode
SELECT median(v) AS a, quantile_cont(v, 0.25) AS b, quantile_disc(v, [0.1, 0.9]) AS c, mode(k % 2) AS d, mad(v) AS e FROM nulls WHERE k IS NULL OR k <> 5

-- name: medians of groups
SELECT s, median(id) AS a, quantile_cont(m, 0.5) AS b, quantile_disc(d, 0.5) AS c FROM nulls GROUP BY s

-- name: lists in the order of something
SELECT k, list(id ORDER BY id DESC) AS l, string_agg(s, '-' ORDER BY id) AS t, array_agg(v ORDER BY v NULLS LAST, id) AS a FROM nulls GROUP BY k

-- name: lists without an order
-- bags: 2
SELECT k, list(id) AS l FROM nulls GROUP BY k

-- name: first and last in an order
SELECT k, first(id ORDER BY v, id) AS f, last(id ORDER BY v, id) AS l, arg_min(id, id) AS lo, arg_max(s, id) AS hi FROM nulls GROUP BY k

-- name: any value of a group
-- open: 2, 3
SELECT k, any_value(id) AS any, first(id) AS first FROM nulls GROUP BY k

-- name: the greatest three
SELECT k, max(id, 3) AS top, min(id, 2) AS low, arg_max(s, id, 2) AS texts FROM nulls GROUP BY k

-- name: about how many
-- open: 2
SELECT count(*) AS n, approx_count_distinct(id) AS about FROM nulls

-- name: products, geometric means and entropy
SELECT k, product(j) FILTER (id < 40) AS p, entropy(j) AS e, skewness(v) AS sk, kurtosis(v) AS ku, geomean(j + 1) AS g FROM nulls GROUP BY k

-- name: histogram
SELECT histogram(k) AS h FROM nulls

-- name: count of a condition
SELECT count_if(v > 0) AS a, sum(CASE WHEN b THEN 1 END) AS c, countif(s = '') AS d FROM nulls

-- name: an aggregate of an aggregate
SELECT max(n) AS most, min(n) AS least, avg(n) AS mean FROM (SELECT k, count(*) AS n FROM nulls GROUP BY k)

-- name: two different groupings joined
SELECT a.k, a.n, b.m FROM (SELECT k, count(*) AS n FROM alpha GROUP BY k) a JOIN (SELECT k, count(*) AS m FROM beta GROUP BY k) b ON a.k = b.k

-- name: groups on the key of a join
SELECT a.k, count(*) AS n, sum(b.x) AS s FROM alpha a JOIN beta b ON a.k = b.k GROUP BY a.k

-- name: rollup
SELECT k, s, count(*) AS n, sum(id) AS total FROM nulls GROUP BY ROLLUP (k, s)

-- name: cube
SELECT b, s, count(*) AS n, avg(v) AS mean FROM nulls GROUP BY CUBE (b, s)

-- name: grouping sets with grouping
SELECT k, s, grouping(k, s) AS which, count(*) AS n, min(m) AS lo FROM nulls GROUP BY GROUPING SETS ((k), (s), (k, s), ())

-- name: grouping sets over nothing
SELECT k, s, count(*) AS n FROM empty GROUP BY GROUPING SETS ((k), (s), ())

-- name: grouping sets with distinct
SELECT b, s, count(DISTINCT k) AS kinds FROM nulls GROUP BY GROUPING SETS ((b), (s))

-- name: rollup of a large table
SELECT year(o_orderdate) AS y, o_orderstatus, count(*) AS n, sum(o_totalprice) AS s FROM orders GROUP BY ROLLUP (1, 2)

-- name: a group key that is a constant
SELECT 'all' AS k, count(*) AS n FROM nulls GROUP BY 1

-- name: aggregates over a union
SELECT k, count(*) AS n, sum(x) AS s FROM (SELECT k, x FROM alpha UNION ALL SELECT k, x FROM beta UNION ALL SELECT k, x FROM gamma) GROUP BY k

-- name: bits of a large table
SELECT bit_xor(l_orderkey) AS x, bit_or(l_linenumber) AS o, sum(hash(l_orderkey, l_linenumber) % 1000) AS h FROM lineitem

-- name: text joined of groups in order
SELECT r_name, string_agg(n_name, ', ' ORDER BY n_name) AS nations FROM region JOIN nation ON n_regionkey = r_regionkey GROUP BY r_name
