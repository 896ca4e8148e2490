/**
 * What is distributed and what is not, as the table in docs/guide/sql.md: examples here, the rest from their plans. A test
 * compares the page with it, and `WRITE_GUIDE=1 npx vitest run --mode=release test/sql/distribution-table.release.test.ts` writes it.
 */
import type { QueryPlan, Stage } from '../../src/sql/plan/index.ts';

export interface Example {
  readonly what: string;
  readonly sql: string;
  /** Positions of the columns that the result is ordered by. */
  readonly order?: readonly number[];
  /** Two runs return different rows, or even another number of them. */
  readonly isVolatile?: 'rows' | 'count';
}

/** Nothing stays whole because it is small; the smallest tables are broadcast. */
export const SETTINGS = {
  ...{ shufflePartitions: 4, singleFragmentBytes: 0, broadcastThresholdBytes: 20_000 },
  sortThresholdBytes: 0,
} as const;

export const EXAMPLES: readonly Example[] = [
  { what: 'filters and expressions', sql: 'SELECT id, amount * 2 FROM events WHERE user_id = 7' },
  { what: 'aggregates of all rows', sql: 'SELECT count(*), avg(amount) FROM events WHERE id > 9' },
  { what: 'few groups', sql: 'SELECT user_id, sum(amount) FROM events GROUP BY user_id' },
  { what: 'many groups', sql: 'SELECT l_orderkey, sum(l_tax) FROM lineitem GROUP BY l_orderkey' },
  {
    what: 'count(DISTINCT), median',
    sql: 'SELECT count(DISTINCT user_id), median(amount) FROM events',
  },
  {
    what: 'ROLLUP, CUBE, grouping sets',
    sql: 'SELECT kind, user_id, count(*) FROM events GROUP BY ROLLUP (kind, user_id)',
  },
  { what: 'SUMMARIZE', sql: 'SELECT column_name, max FROM (SUMMARIZE events)' },
  {
    what: 'joins of large tables',
    sql: 'SELECT o_orderkey, l_tax FROM orders JOIN lineitem ON o_custkey = l_partkey',
  },
  {
    what: 'joins with a small table',
    sql: 'SELECT c_name, n_name FROM customer JOIN nation ON c_nationkey = n_nationkey',
  },
  {
    what: 'outer joins',
    sql: 'SELECT c_name, o_orderkey FROM customer LEFT JOIN orders ON c_custkey = o_custkey',
  },
  {
    what: 'IN, EXISTS, NOT EXISTS',
    sql: 'SELECT c_name FROM customer WHERE c_custkey IN (SELECT o_custkey FROM orders)',
  },
  {
    what: 'NOT IN',
    sql: 'SELECT c_name FROM customer WHERE c_custkey NOT IN (SELECT o_custkey FROM orders)',
  },
  {
    what: 'joins by inequality',
    sql: 'SELECT e.id, t.id FROM events e JOIN trades t ON e.id < t.id AND e.amount > 9',
  },
  {
    what: 'ASOF joins',
    sql: 'SELECT t.id, p.price FROM trades t ASOF JOIN prices p ON t.symbol = p.symbol AND t.ts >= p.ts',
  },
  {
    what: 'correlated subqueries',
    sql: 'SELECT c_name FROM customer c WHERE EXISTS (FROM orders WHERE o_custkey = c.c_custkey AND o_totalprice > c.c_acctbal)',
  },
  {
    what: 'CTEs that are read twice',
    sql: 'WITH big AS (SELECT user_id, amount FROM events WHERE amount > 5) SELECT count(*) FROM big a JOIN big b USING (user_id)',
  },
  { what: 'UNION ALL', sql: 'SELECT id FROM events UNION ALL SELECT id FROM types' },
  { what: 'UNION, INTERSECT, EXCEPT', sql: 'SELECT id FROM events EXCEPT SELECT id FROM types' },
  { what: 'DISTINCT', sql: 'SELECT DISTINCT user_id, kind FROM events' },
  {
    what: 'window functions with PARTITION BY',
    sql: 'SELECT id, sum(amount) OVER (PARTITION BY user_id ORDER BY id) FROM events',
  },
  {
    what: 'ranks and running aggregates of all rows',
    sql: 'SELECT id, row_number() OVER (ORDER BY id), sum(amount) OVER (ORDER BY id) FROM events',
  },
  {
    what: 'totals beside each row',
    sql: 'SELECT id, amount, sum(amount) OVER () AS total FROM events',
  },
  {
    what: 'other windows over all rows',
    sql: 'SELECT id, lag(id) OVER (ORDER BY id) FROM events',
  },
  {
    what: 'the first rows of each group',
    sql: 'SELECT kind, id FROM events QUALIFY row_number() OVER (PARTITION BY kind ORDER BY id) <= 3',
  },
  { what: 'UNNEST', sql: 'SELECT id, unnest(list) FROM types' },
  {
    what: 'UNNEST of a column in FROM',
    sql: 'SELECT t.id, e FROM types t, unnest(t.list) AS u(e) WHERE e > 10',
  },
  { what: 'ORDER BY with LIMIT', sql: 'SELECT id FROM events ORDER BY id LIMIT 5', order: [1] },
  {
    what: 'ORDER BY of a large result',
    sql: 'SELECT id, kind FROM events ORDER BY kind, id',
    order: [2, 1],
  },
  { what: 'files with Hive keys', sql: 'SELECT region, sum(amount) FROM sales GROUP BY region' },
  { what: 'files with different columns', sql: 'SELECT count(score), max(name) FROM drift' },
  { what: 'JSON lines', sql: 'SELECT id, owner.name FROM documents' },
  { what: 'CSV without quotes', sql: 'SELECT kind, sum(n) FROM counts GROUP BY kind' },
  { what: 'CSV with quotes', sql: 'SELECT city FROM cities' },
  { what: 'other JSON', sql: 'SELECT id FROM listed' },
  { what: 'functions that are volatile', sql: 'SELECT id, uuid() FROM events', isVolatile: 'rows' },
  {
    what: 'samples of so many rows',
    sql: 'SELECT id FROM events USING SAMPLE 10 ROWS',
    isVolatile: 'rows',
  },
  {
    what: 'samples of each row by chance',
    sql: 'SELECT id FROM events TABLESAMPLE bernoulli(10%)',
    isVolatile: 'count',
  },
  {
    what: 'samples of blocks',
    sql: 'SELECT id FROM events TABLESAMPLE system(10%)',
    isVolatile: 'count',
  },
  {
    what: 'repeatable samples',
    sql: 'SELECT id FROM events USING SAMPLE reservoir(10 ROWS) REPEATABLE (7)',
    isVolatile: 'rows',
  },
  {
    what: 'recursive queries',
    sql: 'WITH RECURSIVE r AS (SELECT id FROM tree WHERE id = 0 UNION ALL SELECT t.id FROM tree t JOIN r ON t.parent = r.id) SELECT count(*) FROM r',
  },
  {
    what: 'POSITIONAL JOIN',
    sql: 'SELECT a.id, b.id FROM alpha a POSITIONAL JOIN beta b',
  },
  { what: 'LIMIT in per cent', sql: 'SELECT id FROM events ORDER BY id LIMIT 1%', order: [1] },
  {
    what: 'UNNEST of a column in an outer join',
    sql: 'SELECT t.id, e FROM types t LEFT JOIN unnest(t.list) AS u(e) ON true',
  },
  { what: 'PIVOT without a list of values', sql: 'PIVOT events ON kind USING count(*)' },
  {
    what: 'functions with an incomplete plan',
    sql: "SELECT date_part(['year', 'month'], day) FROM types",
  },
  { what: 'queries without a table', sql: 'SELECT 42 AS answer' },
];

/** The tables that only these examples read. */
export const FILES: Readonly<Record<string, string>> = {
  'counts.csv': `kind,n\n${Array.from({ length: 50 }, (_, i) => `k${i % 3},${i}`).join('\n')}\n`,
  'listed.json': '[{"id": 1}, {"id": 2}]\n',
};

export type Plan = (sql: string) => Promise<QueryPlan>;

export const BEGIN = '<!-- What is distributed: written by test/sql/distribution.ts -->';
export const END = '<!-- End of what is distributed -->';

export async function distributionTable(plan: Plan): Promise<string> {
  const rows = [
    ['what', 'example', 'how it runs'],
    ...(await Promise.all(
      EXAMPLES.map(async ({ what, sql }) => [what, `\`${sql}\``, howOf(await plan(sql))]),
    )),
  ];
  const widths = [0, 1, 2].map((at) => Math.max(...rows.map((row) => (row[at] ?? '').length)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`;
  const [head = [], ...body] = rows;
  const rule = line(widths.map((width) => '-'.repeat(width)));
  return [line(head), rule, ...body.map(line)].join('\n');
}

function howOf({ single, stages }: QueryPlan): string {
  if (single !== null) return `whole: ${single}`;
  const moved = stages.slice(0, -1).flatMap((stage) => exchanges(stage, stages));
  const result = (stages.at(-1)?.tasks ?? 1) > 1 ? 'all tasks' : 'one task';
  return `${[...new Set(moved)].join(', ') || 'no exchange'}; result from ${result}`;
}

function exchanges(stage: Stage, stages: readonly Stage[]): readonly string[] {
  if (stage.output.kind === 'hash') return ['by hash'];
  if (stage.output.kind === 'range') return ['by range'];
  return stages.flatMap(({ fragment, tasks }) =>
    fragment.inputs
      .filter((input) => input.stage === stage.id && input.mode === 'all')
      .map(() => (tasks > 1 ? 'broadcast' : 'gathered')),
  );
}
