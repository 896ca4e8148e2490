-- Lists, structs, maps, JSON, unnesting, pivots.

-- name: a list taken apart
SELECT id, unnest(list) AS item FROM types WHERE id < 40

-- name: two lists taken apart side by side
SELECT id, unnest([1, 2, 3]) AS a, unnest(['x', 'y']) AS b FROM gamma

-- name: unnest as a table
SELECT t.id, u.item FROM types t, unnest(t.list) u(item) WHERE t.id < 30

-- name: unnest with its place
SELECT t.id, u.item, u.place FROM types t, unnest(t.list) WITH ORDINALITY u(item, place) WHERE t.id < 30

-- name: left join with what is unnested
SELECT t.id, u.item FROM types t LEFT JOIN LATERAL (SELECT unnest(t.list) AS item) u ON true WHERE t.id < 30

-- name: unnest and group
SELECT item % 5 AS m, count(*) AS n FROM (SELECT unnest(list) AS item FROM types) GROUP BY 1

-- name: a struct taken apart
SELECT id, pair.a, pair['b'] AS b, struct_extract(pair, 'a') + 1 AS c FROM types

-- name: a struct unnested into columns
SELECT id, unnest(pair) FROM types WHERE id < 20

-- name: structs made and changed
SELECT id, {'k': k, 's': s} AS made, struct_insert({'a': 1}, b := k) AS more FROM nulls

-- name: structs without names
-- open: 2
SELECT id, row(k, s) AS unnamed, row(k, s) = row(1, 'b') AS same FROM nulls

-- name: list functions
SELECT id, len(list) AS a, list[1] AS b, list[-1] AS c, list_contains(list, id) AS d, list_sum(list) AS e, list_sort(list, 'DESC', 'NULLS LAST') AS f,
  list[2:3] AS g, list_distinct(list) IS NOT NULL AS h, list || [0] AS i FROM types

-- name: list lambdas
SELECT id, list_transform(list, lambda x: x + 1) AS a, list_filter(list, lambda x: x > 100) AS b, list_reduce([1, 2, id], lambda x, y: x + y) AS c FROM types

-- name: list comprehension
SELECT id, [x * 2 FOR x IN list IF x IS NOT NULL] AS a FROM types

-- name: fixed arrays
SELECT id, [k, j, id]::INTEGER[3] AS a, array_value(id, 1.5) AS b, array_distance([1.0, id]::FLOAT[2], [0.0, 0.0]::FLOAT[2]) AS c FROM nulls WHERE k IS NOT NULL

-- name: fixed arrays grouped
SELECT a, count(*) AS n FROM (SELECT [k, 1]::INTEGER[2] AS a FROM nulls) GROUP BY a

-- name: maps
SELECT id, dict['x'] AS a, map_keys(dict) AS b, map_values(dict) AS c, cardinality(dict) AS d, map_contains(dict, 'y') AS e FROM types

-- name: maps made of groups
SELECT k, map(list(id ORDER BY id), list(s ORDER BY id)) AS m FROM nulls WHERE id < 60 GROUP BY k

-- name: lists of structs of lists
SELECT id, deep[1].n AS n, deep[1].tags[1] AS tag, unnest(deep).tags AS tags FROM types

-- name: unions of types
SELECT id, union_value(number := k) AS u, union_tag(union_value(word := s)) AS t FROM nulls

-- name: lists compared and ordered
-- order: 1, 2
SELECT list, id FROM types WHERE id < 60 ORDER BY list, id

-- name: structs compared and ordered
-- order: 1
SELECT pair, count(*) AS n FROM types GROUP BY pair ORDER BY pair DESC

-- name: a range as a table
SELECT r.i, count(a.id) AS n FROM range(0, 30) r(i) LEFT JOIN alpha a ON a.k = r.i GROUP BY r.i

-- name: a series of dates
SELECT t.d::DATE AS day, count(n.id) AS n FROM generate_series(DATE '2024-02-01', DATE '2024-02-20', INTERVAL 1 DAY) t(d) LEFT JOIN nulls n ON n.d = t.d GROUP BY 1

-- name: json from rows and back
SELECT id, to_json({'k': k, 's': s}) AS j, to_json(k) AS n FROM nulls

-- name: json taken apart
SELECT id, j->'$.a' AS a, j->>'$.b[0]' AS b, json_extract(j, '$.c')::INTEGER AS c, json_array_length(j->'$.b') AS n
FROM (SELECT id, ('{"a":' || id || ',"b":["' || coalesce(s, '') || '"],"c":' || coalesce(k, 0) || '}')::JSON AS j FROM nulls)

-- name: documents of a json file
SELECT id, tags, owner.name AS name, owner.age AS age, note FROM documents

-- name: tags of documents
SELECT tag, count(*) AS n FROM (SELECT unnest(tags) AS tag FROM documents) GROUP BY tag

-- name: pivot with known columns
SELECT * FROM (SELECT kind, user_id % 3 AS u, amount FROM events) PIVOT (sum(amount) FOR kind IN ('view', 'click', 'buy') GROUP BY u)

-- name: pivot with columns that are found
PIVOT (SELECT kind, user_id % 3 AS u, amount FROM events) ON kind USING sum(amount) GROUP BY u

-- name: unpivot
SELECT * FROM (SELECT id, k, j::INTEGER AS j FROM nulls) UNPIVOT (value FOR name IN (k, j))

-- name: unpivot with nulls
SELECT * FROM (SELECT id, k, none FROM nulls) UNPIVOT INCLUDE NULLS (value FOR name IN (k, none))

-- name: generate subscripts and zip
-- open: 2
SELECT id, list_zip([1, 2], ['a', 'b']) AS z, generate_subscripts([7, 8, 9], 1) AS i FROM gamma WHERE id < 5
