-- Nearest vectors: top-k by cosine, L2 and dot product, and retrieval in two phases.

-- name: top ten by cosine similarity
-- order: 1, 2
SELECT round(array_cosine_similarity([sin(id), cos(id), user_id / 97]::FLOAT[3], [0.3, 0.5, 0.8]::FLOAT[3]), 4) AS near, id
FROM events ORDER BY near DESC, id LIMIT 10

-- name: top ten by L2 distance
-- order: 1, 2
SELECT round(array_distance([id % 50, user_id, amount]::FLOAT[3], [20, 40, 5]::FLOAT[3]), 3) AS far, id
FROM events ORDER BY far, id LIMIT 10

-- name: top ten by dot product
-- order: 1, 2
SELECT round(array_inner_product([id % 50, user_id, amount]::FLOAT[3], [0.5, -0.25, 2]::FLOAT[3]), 2) AS score, id
FROM events ORDER BY score DESC, id LIMIT 10

-- name: the nearest three of each kind
SELECT kind, id, far FROM (
  SELECT kind, id, round(list_distance([id % 50, user_id]::DOUBLE[], [25, 48]), 6) AS far,
    row_number() OVER (PARTITION BY kind ORDER BY round(list_distance([id % 50, user_id]::DOUBLE[], [25, 48]), 6), id) AS place
  FROM events)
WHERE place <= 3

-- name: nearest neighbours of several vectors
SELECT p.symbol, e.id, round(array_distance([e.id % 50, e.user_id]::FLOAT[2], [p.x, p.y]::FLOAT[2]), 3) AS far
FROM events e, (VALUES ('a', 10, 20), ('b', 40, 90), ('c', 0, 0)) p(symbol, x, y)
QUALIFY row_number() OVER (PARTITION BY p.symbol ORDER BY far, e.id) <= 5

-- name: two phases, candidates by a coarse vector and then re-ranked by the exact one
-- order: 1, 2
WITH candidates AS (
  SELECT id FROM events
  ORDER BY round(array_distance([id % 50, user_id]::FLOAT[2], [20, 40]::FLOAT[2]), 3), id LIMIT 100)
SELECT round(array_cosine_distance([e.id % 50, e.user_id, e.amount]::FLOAT[3], [20, 40, 5]::FLOAT[3]), 4) AS far,
  e.id, e.kind, e.amount
FROM candidates c JOIN events e USING (id) ORDER BY far, e.id LIMIT 10

-- name: two phases, with a filter on what was found
-- order: 1, 2
WITH candidates AS (
  SELECT id, user_id FROM events WHERE amount > 2
  ORDER BY round(list_cosine_distance([id % 50 + 1, user_id + 1]::DOUBLE[], [3, 4]), 6), id LIMIT 60)
SELECT c.id, e.user_id, round(list_inner_product([e.amount, c.user_id]::DOUBLE[], [1.5, -0.5]), 6) AS score
FROM candidates c JOIN events e ON e.id = c.id WHERE e.kind <> 'leave' ORDER BY c.id, score LIMIT 20
