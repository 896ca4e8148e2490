/** Queries that put an expression where it decides which rows meet: keys, orders, arguments, conditions. */

export interface Shape {
  readonly sql: string;
  /** The rows come in an order that leaves nothing open. */
  readonly isOrdered: boolean;
}

const plain = (sql: string): Shape => ({ sql, isOrdered: false });
const ordered = (sql: string): Shape => ({ sql, isOrdered: true });

/** `e`: an expression over the columns of `samples`. */
export const SCALAR_SHAPES: Readonly<Record<string, (e: string) => Shape>> = {
  projection: (e) => plain(`SELECT id, ${e} AS v FROM samples`),
  'projection above an exchange': (e) =>
    plain(`SELECT id, ${e} AS v FROM (SELECT DISTINCT * FROM samples)`),
  filter: (e) => plain(`SELECT id FROM samples WHERE (${e}) IS NOT NULL`),
  'group key': (e) =>
    plain(`SELECT ${e} AS k, count(*) AS n, min(id) AS first FROM samples GROUP BY 1`),
  'distinct values': (e) => plain(`SELECT g, count(DISTINCT ${e}) AS n FROM samples GROUP BY g`),
  'rows without duplicates': (e) => plain(`SELECT DISTINCT ${e} AS v, g FROM samples`),
  'join key': (e) =>
    plain(
      `SELECT a.id AS x, b.id AS y FROM (SELECT id, ${e} AS k FROM samples) a JOIN (SELECT id, ${e} AS k FROM samples) b ON a.k = b.k`,
    ),
  'outer join key': (e) =>
    plain(
      `SELECT a.id AS x, b.id AS y, b.k AS k FROM (SELECT id, ${e} AS k FROM samples) a LEFT JOIN (SELECT id, ${e} AS k FROM samples WHERE id % 2 = 0) b ON a.k IS NOT DISTINCT FROM b.k`,
    ),
  'member of a subquery': (e) =>
    plain(
      `SELECT id, k IN (SELECT ${e} FROM samples WHERE g = 1) AS is_in FROM (SELECT id, ${e} AS k FROM samples)`,
    ),
  'argument of aggregates': (e) =>
    plain(`SELECT g, min(${e}) AS a, max(${e}) AS b, count(${e}) AS c FROM samples GROUP BY g`),
  'argument of ordered aggregates': (e) =>
    plain(
      `SELECT g, list(${e} ORDER BY id) AS a, first(${e} ORDER BY id DESC) AS b, arg_max(${e}, id) AS c FROM samples GROUP BY g`,
    ),
  'key of a rollup': (e) =>
    plain(
      `SELECT ${e} AS k, g, count(*) AS n, grouping(g) AS m FROM samples GROUP BY ROLLUP (1, 2)`,
    ),
  window: (e) =>
    plain(
      `SELECT id, count(*) OVER (PARTITION BY k) AS n, row_number() OVER (PARTITION BY g ORDER BY k, id) AS r, lag(k) OVER (ORDER BY id) AS p FROM (SELECT id, g, ${e} AS k FROM samples)`,
    ),
  order: (e) => ordered(`SELECT id, g FROM samples ORDER BY ${e} DESC NULLS FIRST, id`),
  'first rows': (e) => ordered(`SELECT id FROM samples ORDER BY ${e}, id LIMIT 7`),
  union: (e) =>
    plain(`SELECT ${e} AS v FROM samples WHERE g < 2 UNION SELECT ${e} FROM samples WHERE g > 0`),
  difference: (e) =>
    plain(
      `SELECT ${e} AS v FROM samples WHERE g < 2 EXCEPT ALL SELECT ${e} FROM samples WHERE g > 0`,
    ),
};

/** `call`: an aggregate over the columns of `samples`. */
export const AGGREGATE_SHAPES: Readonly<Record<string, (call: string) => Shape>> = {
  total: (call) => plain(`SELECT ${call} AS v FROM samples`),
  'by group': (call) => plain(`SELECT g, ${call} AS v FROM samples GROUP BY g`),
  'over nothing': (call) => plain(`SELECT ${call} AS v FROM samples WHERE id < 0`),
  'with a filter': (call) =>
    plain(`SELECT g, ${call} FILTER (WHERE id % 2 = 0) AS v FROM samples GROUP BY g`),
  'in grouping sets': (call) =>
    plain(`SELECT g, id % 2 AS h, ${call} AS v FROM samples GROUP BY CUBE (g, h)`),
  'over a window': (call) =>
    plain(
      `SELECT id, ${call} OVER (PARTITION BY g ORDER BY id ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS v FROM samples`,
    ),
  'over all of a window': (call) =>
    plain(`SELECT id, ${call} OVER (PARTITION BY g) AS v FROM samples`),
  'in HAVING': (call) => plain(`SELECT g FROM samples GROUP BY g HAVING (${call}) IS NOT NULL`),
  'as a subquery': (call) =>
    plain(`SELECT a.id, (SELECT ${call} FROM samples s WHERE s.g = a.g) AS v FROM samples a`),
};
