import { expect, test, vi } from 'vitest';
import type { QueryPlan } from '../../src/sql/plan/index.ts';
import { grouped, openPlanned } from './planned.ts';
import { Dice } from './random/dice.ts';
import { scratch } from './scratch.ts';

// Room for a busy machine: alone it takes seconds.
vi.setConfig({ testTimeout: 120_000 });
const here = scratch();
const local = openPlanned(here);

const settings = (partitions: number) => ({
  ...{ partitions, broadcastThresholdBytes: 0, singleFragmentBytes: 0, sortThresholdBytes: 0 },
});

/** Whether the last stage works on its own ranges or rows. */
const isSpread = ({ stages, single }: QueryPlan, partitions: number): boolean =>
  single === null && stages.at(-1)?.tasks === partitions;

const RANKS = `row_number() OVER w AS rn, rank() OVER w AS r, dense_rank() OVER w AS d, percent_rank() OVER w AS p, cume_dist() OVER w AS c`;
const SUMS = `count(*) OVER w AS n, count(v) OVER w AS nv, sum(v) OVER w AS s, min(v) OVER w AS lo, max(v) OVER w AS hi, avg(v) OVER w AS a`;

/** Over ranges: unique orders and ties, all directions, NULLs, one value only, no rows, both kinds of frames, filters. */
const RUNNING = [
  `SELECT id, ${RANKS} FROM events WINDOW w AS (ORDER BY id)`,
  `SELECT id, ${RANKS} FROM events WINDOW w AS (ORDER BY amount DESC, id)`,
  `SELECT kind, rank() OVER w, dense_rank() OVER w, percent_rank() OVER w, cume_dist() OVER w FROM events WINDOW w AS (ORDER BY kind)`,
  `SELECT none, rank() OVER w, dense_rank() OVER w, percent_rank() OVER w, cume_dist() OVER w FROM nulls WINDOW w AS (ORDER BY none)`,
  `SELECT k, j, rank() OVER w, dense_rank() OVER w FROM nulls WINDOW w AS (ORDER BY k NULLS FIRST, j DESC NULLS LAST)`,
  `SELECT id, ${SUMS} FROM (SELECT id, CASE WHEN id % 7 > 0 THEN amount END AS v FROM events) WINDOW w AS (ORDER BY id DESC)`,
  `SELECT v, ${SUMS} FROM (SELECT user_id AS v FROM events) WINDOW w AS (ORDER BY v)`,
  `SELECT id, ${SUMS} FROM (SELECT id, i16 AS v FROM types) WINDOW w AS (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)`,
  `SELECT id, ${SUMS} FROM (SELECT id, text, d18 AS v FROM types) WINDOW w AS (ORDER BY text, id RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)`,
  `SELECT id, min(day) OVER w, max(text) OVER w, min(moment) OVER w FROM types WINDOW w AS (ORDER BY id)`,
  `SELECT id, count(*) FILTER (amount > 5) OVER w, sum(amount) FILTER (kind = 'x') OVER w FROM events WINDOW w AS (ORDER BY id)`,
  `SELECT id, rank() OVER (ORDER BY f64), dense_rank() OVER (ORDER BY f64) FROM types`,
  `SELECT id, ${RANKS} FROM events WHERE id < 3 WINDOW w AS (ORDER BY id)`,
  `SELECT id, ${RANKS} FROM events WHERE amount % 2 = 7 WINDOW w AS (ORDER BY id)`,
  // Over joined and grouped rows, two orders, and other windows beside them.
  `SELECT o_orderkey, row_number() OVER (ORDER BY o_totalprice, o_orderkey) FROM orders JOIN customer ON o_custkey = c_custkey`,
  `SELECT user_id, n, rank() OVER (ORDER BY n DESC) FROM (SELECT user_id, count(*) AS n FROM events GROUP BY user_id)`,
  `SELECT id, row_number() OVER (ORDER BY id), rank() OVER (ORDER BY amount), sum(id) OVER (PARTITION BY user_id) FROM events`,
  `SELECT id, row_number() OVER (ORDER BY id), count(*) OVER (), sum(amount) OVER (PARTITION BY kind ORDER BY id) FROM events`,
];

const TOTALS = [
  `SELECT id, count(*) OVER (), sum(amount) OVER (), avg(amount) OVER (), max(kind) OVER () FROM events`,
  `SELECT id, count(DISTINCT kind) OVER () FROM events`,
  `SELECT id, sum(amount) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) FROM events`,
  `SELECT id, count(*) FILTER (amount > 5) OVER () FROM events WHERE id % 3 = 0`,
  `SELECT id, sum(amount) OVER () FROM events WHERE amount % 2 = 7`,
  `SELECT user_id, sum(n) OVER () FROM (SELECT user_id, count(*) AS n FROM events GROUP BY user_id) WHERE n > 3`,
  `SELECT id, sum(id) OVER (PARTITION BY user_id), sum(id) OVER (PARTITION BY kind ORDER BY id), count(*) OVER () FROM events`,
];

test.each([3])(
  'windows over all rows are computed by %i tasks and return what DuckDB returns',
  async (partitions) => {
    for (const sql of [...RUNNING, ...TOTALS]) {
      const { answer, plan } = await local.planned.answer(sql, settings(partitions));
      expect([sql, await here.oracle.judge(sql, answer, {})]).toEqual([sql, null]);
      expect([sql, isSpread(plan, partitions)]).toEqual([sql, true]);
    }
  },
);

test('ranges that one task reads together have the same rows', async () => {
  for (const [at, sql] of RUNNING.filter((_, each) => each % 2 === 0).entries()) {
    const { answer } = await local.planned.answer(sql, settings(6), grouped(new Dice(at)));
    expect([sql, await here.oracle.judge(sql, answer, {})]).toEqual([sql, null]);
  }
});

test('the first rows of all are chosen where each task has too many of them for one', async () => {
  const first = [
    'SELECT id, kind FROM events QUALIFY row_number() OVER (ORDER BY amount DESC, id) <= 400',
    'SELECT id, kind FROM events QUALIFY rank() OVER (ORDER BY user_id) <= 40',
    'SELECT * FROM (SELECT id, dense_rank() OVER (ORDER BY amount) AS d FROM events) WHERE d = 3',
  ];
  for (const sql of first) {
    const { answer } = await local.planned.answer(sql, settings(3));
    expect([sql, await here.oracle.judge(sql, answer, {})]).toEqual([sql, null]);
  }
});

test('what depends on rows beyond the range, and a little input, stay in one task', async () => {
  const whole = [
    'SELECT id, lag(id) OVER (ORDER BY id) FROM events',
    'SELECT id, sum(id) OVER (ORDER BY id ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) FROM events',
    'SELECT id, row_number() OVER (ORDER BY id), lead(id) OVER (ORDER BY id) FROM events',
    'SELECT id, count(*) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW EXCLUDE TIES) FROM events',
    'SELECT id, list(id) OVER (ORDER BY id) FROM events WHERE id < 50',
  ];
  for (const sql of whole) {
    const { answer, plan } = await local.planned.answer(sql, settings(4));
    expect([sql, await here.oracle.judge(sql, answer, {})]).toEqual([sql, null]);
    expect([sql, plan.stages.at(-1)?.tasks]).toEqual([sql, 1]);
  }
  const small = { ...settings(4), sortThresholdBytes: 1e9 };
  const { plan } = await local.planned.answer(
    'SELECT id, row_number() OVER (ORDER BY id) FROM events',
    small,
  );
  expect(plan.stages.at(-1)?.tasks).toBe(1);
});
