/** Queries whose result has an order, for comparing rows in order: all types, directions, NULLs, collations, ties. */
import type { Leeway } from './oracle.ts';

export interface SortedQuery {
  readonly sql: string;
  readonly leeway: Leeway;
}

const TYPES = (
  'id bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 d4 d9 d18 d38 text bytes day clock moment zoned span uid ' +
  'list pair dict deep'
).split(' ');

const DIRECTIONS = ['ASC NULLS LAST', 'DESC NULLS FIRST', 'ASC NULLS FIRST', 'DESC NULLS LAST'];

/** One column of each type, every third row NULL, in one direction after the other. */
function byType(): readonly SortedQuery[] {
  return TYPES.map((name, at) => ({
    sql: `SELECT CASE WHEN id % 3 > 0 THEN ${name} END AS k, id FROM types ORDER BY k ${DIRECTIONS[at % 4]}, id DESC`,
    leeway: { order: [1, 2] },
  }));
}

const OTHERS: readonly (readonly [order: readonly number[], sql: string])[] = [
  [
    [1, 2, 3],
    'SELECT k, j, s, id FROM nulls ORDER BY k NULLS FIRST, j DESC NULLS LAST, s NULLS FIRST',
  ],
  [[1, 2], 'SELECT none, v, id FROM nulls ORDER BY none DESC, v DESC NULLS FIRST'],
  [[1], 'SELECT none, id FROM nulls ORDER BY none'],
  // Ties: a few keys in many rows, and one key in nearly all of them.
  [[1], 'SELECT l_linestatus, l_orderkey, l_linenumber FROM lineitem ORDER BY l_linestatus'],
  [[1], 'SELECT CASE WHEN id % 50 = 0 THEN id ELSE 7 END AS k, id FROM events ORDER BY k DESC'],
  [[1], 'SELECT kind FROM events ORDER BY kind'],
  // Not a column, not in the result, not in binary order.
  [[2], 'SELECT id, abs(i32) % 97 AS k, text FROM types ORDER BY abs(i32) % 97'],
  [[1], 'SELECT lower(text) AS low, text FROM types ORDER BY text COLLATE NOCASE'],
  [[1], 'SELECT strip_accents(text) AS bare, text FROM types ORDER BY text COLLATE NOACCENT DESC'],
  [[1], 'SELECT -id AS minus FROM events ORDER BY id DESC'],
  // Nothing, one row, fewer rows than ranges.
  [[1], 'SELECT id FROM events WHERE amount % 2 = 7 ORDER BY id'],
  [[1], 'SELECT id FROM events WHERE id = 17 ORDER BY id'],
  [[1], 'SELECT id FROM events WHERE id < 5 ORDER BY id DESC'],
  // Over every kind of input.
  [[2, 1], 'SELECT user_id, count(*) AS n FROM events GROUP BY user_id ORDER BY n DESC, user_id'],
  [
    [1, 2],
    'SELECT o_orderdate, o_orderkey, c_name FROM orders JOIN customer ON o_custkey = c_custkey ORDER BY o_orderdate, o_orderkey',
  ],
  [[1], 'SELECT id, sum(amount) OVER (PARTITION BY user_id) AS total FROM events ORDER BY id DESC'],
  [[1, 2], 'SELECT DISTINCT user_id, kind FROM events ORDER BY user_id DESC, kind'],
  [[1], 'SELECT id FROM events UNION ALL SELECT id FROM types ORDER BY id'],
  [
    [1, 2],
    'WITH e AS (SELECT user_id, id FROM events WHERE id % 3 = 0) SELECT a.user_id, a.id FROM e a WHERE a.user_id IN (SELECT b.user_id FROM e b WHERE b.id > 4000) ORDER BY a.user_id, a.id DESC',
  ],
  [[1], 'SELECT unnest(list) AS e, id FROM types ORDER BY e NULLS FIRST'],
  [
    [1, 2],
    'SELECT l_orderkey, l_linenumber, l_comment FROM lineitem ORDER BY l_orderkey, l_linenumber',
  ],
];

export const SORTED_QUERIES: readonly SortedQuery[] = [
  ...byType(),
  ...OTHERS.map(([order, sql]) => ({ sql, leeway: { order } })),
];
