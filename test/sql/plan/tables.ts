/** Small tables with NULLs, duplicates and many types. */
export const tables: Readonly<Record<string, string>> = {
  people: `SELECT i::INTEGER AS id, (i % 5)::INTEGER AS team, IF(i % 7 = 0, NULL, i * 1.5)::DOUBLE AS score,
    IF(i % 11 = 0, NULL, 'name ' || (i % 13)) AS name, DATE '2020-01-01' + (i * 17 % 400)::INTEGER AS born,
    IF(i % 6 = 0, NULL, i * 1.25)::DECIMAL(12,2) AS pay, (i % 4 = 1) AS active,
    CASE WHEN i % 9 = 0 THEN NULL WHEN i % 9 = 1 THEN [] ELSE [i, i + 1, NULL] END AS marks,
    {'a': i, 'b': 'x' || (i % 3)} AS pair, TIMESTAMP '2021-05-06 07:08:09.123456' + to_minutes(i * 37) AS seen
    FROM range(60) t(i)`,
  visits: `SELECT i::BIGINT AS visit, IF(i % 8 = 0, NULL, i * 7 % 70)::INTEGER AS person,
    (i % 4)::INTEGER AS team, (i * i % 91)::BIGINT AS amount, (i * 0.75)::DECIMAL(9,3) AS price,
    TIMESTAMP '2021-05-06 08:00:00' + to_minutes(i * 29) AS at, 'place ' || (i % 5) AS place
    FROM range(120) t(i)`,
  teams: `SELECT * FROM (VALUES (0, 'red', NULL), (1, 'green', 0), (2, 'blue', 0), (3, NULL, 1), (NULL, 'none', 2))
    t(team, title, parent)`,
  nobody: `SELECT id, name FROM (SELECT 1::INTEGER AS id, 'x' AS name) WHERE false`,
  types: `SELECT i::TINYINT AS i1, i::SMALLINT AS i2, i::BIGINT AS i8, i::UTINYINT AS u1, i::USMALLINT AS u2,
    i::UINTEGER AS u4, i::UBIGINT AS u8, (i / 3)::FLOAT AS f4, TIME '01:02:03.456' + to_seconds(i) AS t,
    TIMESTAMPTZ '2020-02-29 12:00:00+00' + to_days(i::INTEGER) AS tz, ('00000000-0000-0000-0000-00000000000' || i)::UUID AS u,
    ('a\\x0' || i || 'b')::BLOB AS b, MAP {'k' || i: i} AS m, to_days(i::INTEGER) + to_microseconds(i * 1000) AS v,
    (i * 12345678901234567)::DECIMAL(38,4) AS wide, i % 2 = 0 AS yes
    FROM range(10) t(i)`,
};
