-- Reading, filtering and computing, without joins or aggregates.

-- name: all columns of a small table
SELECT * FROM nulls

-- name: every type there and back
SELECT * FROM types

-- name: a table without rows
SELECT * FROM empty

-- name: a table with one row
SELECT * FROM one

-- name: columns in another order and twice
SELECT s, id, s AS again, k FROM nulls

-- name: two columns of one name
SELECT id AS a, k AS a FROM nulls

-- name: names with blanks, quotes and reserved words
SELECT id AS "select", k AS "with blank", v AS "a ""quote""" FROM nulls

-- name: constants beside columns
SELECT 1 AS one, 'x' AS letter, NULL AS nothing, true AS yes, id FROM nulls

-- name: no table at all
SELECT 1 + 1 AS two, 'a' || 'b' AS ab

-- name: a list of values as a table
SELECT * FROM (VALUES (1, 'a'), (2, NULL), (NULL, 'c')) t(n, s)

-- name: values joined with a table
SELECT n.id, t.word FROM nulls n JOIN (VALUES (1, 'one'), (2, 'two'), (NULL, 'none')) t(n, word) ON n.k = t.n

-- name: a filter by equality
SELECT id, k FROM nulls WHERE k = 3

-- name: a filter that no row passes
SELECT id, k FROM nulls WHERE k = 300

-- name: a filter that is always false
SELECT id FROM nulls WHERE 1 = 2

-- name: a filter that is NULL
SELECT id FROM nulls WHERE NULL

-- name: a filter by a range of dates
SELECT l_orderkey, l_linenumber, l_shipdate FROM lineitem
WHERE l_shipdate BETWEEN DATE '1994-03-01' AND DATE '1994-03-03'

-- name: comparisons with NULL pass nothing
SELECT id FROM nulls WHERE k = NULL OR k <> NULL OR k > NULL

-- name: is null and is not null
SELECT id, k IS NULL AS k_null, v IS NOT NULL AS v_there FROM nulls WHERE k IS NULL OR v IS NULL

-- name: is distinct from
SELECT id, k IS DISTINCT FROM j AS apart, k IS NOT DISTINCT FROM j AS same FROM nulls

-- name: three-valued logic
SELECT id, b AND k > 3 AS both, b OR k > 3 AS either, NOT b AS not_b, (b AND k > 3) IS NULL AS unknown FROM nulls

-- name: in a list, with NULL in it
SELECT id, k IN (1, 2, NULL) AS isin, k NOT IN (1, 2, NULL) AS notin FROM nulls

-- name: in a long list
SELECT id FROM nulls WHERE id IN (1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31, 33, 35, 37, 399, 400, 401)

-- name: case with and without else
SELECT id, CASE WHEN k > 4 THEN 'high' WHEN k > 1 THEN 'middle' END AS height,
  CASE k WHEN 1 THEN 10 WHEN 2 THEN 20 ELSE -1 END AS tens FROM nulls

-- name: coalesce, nullif, ifnull, greatest, least
SELECT id, coalesce(k, j, -1) AS c, nullif(k, 3) AS n, ifnull(s, '?') AS i, greatest(k, j) AS g, least(k, j, 2) AS l
FROM nulls

-- name: integer arithmetic
SELECT id, k + 1 AS a, k - j AS b, k * j AS c, k // 2 AS d, k % 3 AS e, -k AS f, abs(k - 4) AS g FROM nulls

-- name: division by zero is NULL
SELECT id, k / (k - 1) AS a, k // (k - 2) AS b, k % (k - 3) AS c, v / 0 AS d FROM nulls

-- name: float arithmetic
SELECT id, v * 2 AS a, v / 3 AS b, sqrt(abs(v)) AS c, round(v, 0) AS d, floor(v) AS e, ceil(v) AS f, power(v, 2) AS g
FROM nulls

-- name: decimal arithmetic
SELECT id, m + 0.5 AS a, m * 1.1 AS b, m - 100.25 AS c, round(m, 1) AS d, m / 3 AS e FROM nulls

-- name: casts between numbers
SELECT id, i32::BIGINT AS a, i16::DOUBLE AS b, d9::INTEGER AS c, d18::DECIMAL(20, 1) AS d, u32::HUGEINT AS e, f32::DOUBLE AS f
FROM types WHERE id > 10

-- name: casts to and from text
SELECT id, i64::VARCHAR AS a, d38::VARCHAR AS b, day::VARCHAR AS c, moment::VARCHAR AS d, list::VARCHAR AS e, pair::VARCHAR AS f
FROM types

-- name: try_cast gives NULL
SELECT id, TRY_CAST(text AS INTEGER) AS a, TRY_CAST(s2 AS DATE) AS b
FROM (SELECT id, text, '2024-01-' || (id % 40 + 1) AS s2 FROM types)

-- name: strings
SELECT id, upper(text) AS a, length(text) AS b, substr(text, 2, 4) AS c, replace(text, 'text', 'T') AS d,
  lpad(text, 12, '*') AS e, reverse(text) AS f, strpos(text, 't') AS g, left(text, 3) AS h, trim(text) AS i FROM types

-- name: like in all forms
SELECT id, text LIKE 'text 1%' AS a, text LIKE '%_2' AS b, text ILIKE 'TEXT%' AS c, text NOT LIKE '%e%' AS d,
  text LIKE '%\%' ESCAPE '\' AS e, text GLOB 't*3' AS f FROM types

-- name: regular expressions
SELECT id, regexp_matches(text, '^text [0-3]$') AS a, regexp_extract(text, '(\d+)', 1) AS b,
  regexp_replace(text, '[aeiou]', '_', 'g') AS c, text SIMILAR TO 'text \d' AS d FROM types

-- name: dates
SELECT id, d + 1 AS next, d - DATE '2024-01-01' AS days, year(d) AS y, month(d) AS m, dayofweek(d) AS w,
  date_trunc('month', d) AS first, d + INTERVAL 1 MONTH AS later, last_day(d) AS last FROM nulls

-- name: timestamps and intervals
SELECT id, moment + INTERVAL 1 DAY AS a, moment - TIMESTAMP '2000-01-01' AS b, date_part('hour', moment) AS c,
  epoch_us(moment) AS d, date_diff('day', moment, TIMESTAMP '2024-01-01') AS e, time_bucket(INTERVAL 1 WEEK, moment) AS f,
  span * 2 AS g FROM types

-- name: moments in time zones
SELECT id, zoned, zoned AT TIME ZONE 'America/New_York' AS there, timezone('Asia/Kolkata', zoned) AS kolkata,
  date_trunc('day', zoned) AS day, strftime(zoned, '%Y-%m-%d %H:%M') AS text FROM types

-- name: a clock and its time zone
SELECT id, clock, clock::TIMETZ AS zone, extract('minute' FROM clock) AS minute FROM types

-- name: bytes and bits
SELECT id, bytes, octet_length(bytes) AS n, bytes || 'z'::BLOB AS longer, hex(bytes) AS h, (id % 8)::TINYINT::BIT AS bits FROM types

-- name: an enum made by a cast
SELECT id, kind::ENUM('view', 'click', 'buy', 'leave') AS kind FROM events WHERE id < 50

-- name: uuids
SELECT uid, uid::VARCHAR AS text FROM types WHERE uid > '00000000-0000-4000-8000-000000000400'::UUID

-- name: extremes of the integers
SELECT i64, u64, i64::HUGEINT * 2 AS twice, u64::HUGEINT + 1 AS more, -i64::HUGEINT AS other FROM types WHERE id < 3

-- name: decimals at their limits
SELECT d38, d38 / 2 AS half, d38::DOUBLE AS about, -d38 AS minus FROM types WHERE id < 20

-- name: not a number, infinities and minus zero
SELECT id, f64, f64 = f64 AS self, f64 > 1e308 AS big, isnan(f64) AS nan, isinf(f64) AS inf, abs(f64) AS positive
FROM types WHERE id < 10

-- name: a hidden filter column
SELECT id FROM nulls WHERE s = 'c' AND b

-- name: many conditions at once
SELECT id FROM nulls WHERE (k > 2 OR j < 2) AND NOT (s = 'a' AND b) AND (v IS NULL OR v > 0) AND id BETWEEN 10 AND 300

-- name: columns chosen by star, exclude, replace and a pattern
SELECT * EXCLUDE (none, d) REPLACE (k + 1 AS k) FROM nulls

-- name: columns by expression
SELECT COLUMNS('^[kj]$') + 1 FROM nulls

-- name: from first
FROM nulls SELECT id, k WHERE k = 2

-- name: a lateral alias
SELECT id, k + 1 AS next, next * 2 AS twice FROM nulls WHERE next > 3

-- name: now is one moment
SELECT DISTINCT now() IS NOT NULL AS there, now() = now() AS same, current_date = now()::DATE AS today FROM nulls

-- name: random numbers have a range
SELECT count(*) AS n, bool_and(r >= 0 AND r < 1) AS inside FROM (SELECT random() AS r FROM nulls)
