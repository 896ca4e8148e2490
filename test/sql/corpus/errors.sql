-- Queries that have to fail, and in the same words.

-- name: text that is not SQL
-- fails: syntax error
SELEKT 1

-- name: an unknown table
-- fails: nowhere does not exist
SELECT * FROM nowhere

-- name: an unknown column
-- fails: "?missing"?
SELECT missing FROM nulls

-- name: an unknown function
-- fails: no_such_function
SELECT no_such_function(id) FROM nulls

-- name: types that do not go together
-- fails: Unimplemented type for cast
SELECT id FROM nulls WHERE d = {'a': 1}

-- name: text that is not a number
-- fails: Could not convert string
SELECT CAST(text AS INTEGER) FROM types

-- name: a number that does not fit
-- fails: Overflow
SELECT i64 * 2 FROM types

-- name: a cast that does not fit
-- fails: (out of range|can't be cast)
SELECT i32::TINYINT FROM types

-- name: a column that is not grouped
-- fails: GROUP BY
SELECT k, s, count(*) FROM nulls GROUP BY k

-- name: an aggregate in where
-- fails: WHERE clause cannot contain aggregates
SELECT k FROM nulls WHERE count(*) > 1

-- name: an ambiguous column
-- fails: [Aa]mbiguous
SELECT id FROM alpha a JOIN beta b ON a.k = b.k

-- name: a union of different widths
-- fails: number of result columns
SELECT id, k FROM alpha UNION SELECT id FROM beta

-- name: an error on demand, deep in a group
-- fails: enough of this
SELECT k, sum(CASE WHEN id = 390 THEN error('enough of this')::INTEGER ELSE 1 END) AS n FROM nulls GROUP BY k

-- name: a sum that does not fit
-- fails: (Overflow|out of range)
SELECT sum(v) FROM (SELECT 170141183460469231731687303715884105727::HUGEINT AS v, id FROM nulls WHERE id IN (1, 2))

-- name: two statements at once
-- refused: .
SELECT 1; SELECT 2

-- name: a statement that changes something
-- refused: .
CREATE TABLE t AS SELECT 1

-- name: a file outside of the tables
-- refused: .
SELECT * FROM read_csv('/etc/passwd')

-- name: a lone parenthesis
-- fails: syntax error
SELECT (1 FROM nulls
