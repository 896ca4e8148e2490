/** Plans that do less than DuckDB's own plan says: tables scanned once, rows grouped once, stages that only copy a table left out. */
import { expect, test, vi } from 'vitest';
import type { QueryPlan } from '../../src/sql/plan/index.ts';
import { grouped, openPlanned } from './planned.ts';
import { Dice } from './random/dice.ts';
import { scratch } from './scratch.ts';

// Room for a busy machine: alone it takes seconds.
vi.setConfig({ testTimeout: 120_000 });
const here = scratch();
const local = openPlanned(here);

const settings = (partitions: number, broadcastThresholdBytes = 0) => ({
  ...{ partitions, broadcastThresholdBytes, singleFragmentBytes: 0 },
});

async function planOf(sql: string, ...given: Parameters<typeof settings>): Promise<QueryPlan> {
  const { answer, plan } = await local.planned.answer(sql, settings(...given));
  expect([sql, await here.oracle.judge(sql, answer, {})]).toEqual([sql, null]);
  return plan;
}

function scansOf({ stages }: QueryPlan, table: string): number {
  const scans = stages.flatMap(({ fragment }) => fragment.scans);
  return scans.filter((scan) => scan.table === table).length;
}

/** Each reads its table once for each subquery in DuckDB's plan. */
const TOTALS = [
  `SELECT (SELECT count(*) FROM events WHERE user_id < 20), (SELECT count(*) FROM events WHERE user_id BETWEEN 10 AND 50)`,
  `SELECT (SELECT sum(amount) FROM events WHERE kind = 'buy'), (SELECT avg(amount) FROM events WHERE kind = 'click'), (SELECT max(id) FROM events)`,
  `SELECT (SELECT count(*) FROM events), (SELECT min(kind) FROM events WHERE amount > 5 OR user_id IN (1, 2, 3))`,
  `SELECT (SELECT count(*) FROM events WHERE kind = 'buy'), (SELECT count(*) FROM events WHERE kind = 'buy')`,
  // Nothing is left of one of them, or of all.
  `SELECT (SELECT sum(amount) FROM events WHERE kind = 'call'), (SELECT count(*) FROM events WHERE kind = 'cart'), (SELECT count(id) FROM events)`,
  `SELECT * FROM (SELECT count(*) AS n, sum(amount) AS s FROM events WHERE kind = 'call') CROSS JOIN (SELECT avg(id) AS m FROM events WHERE kind = 'cart')`,
  // Conditions that are unknown, and filters of their own.
  `SELECT (SELECT count(*) FROM nulls WHERE k > 2), (SELECT sum(j) FROM nulls WHERE NOT b), (SELECT count(v) FROM nulls WHERE s IS NULL)`,
  `SELECT (SELECT count(*) FILTER (k > 1) FROM nulls WHERE j > 1), (SELECT sum(m) FILTER (b) FROM nulls WHERE s <> 'a')`,
  // Distinct values of one column, each in rows of its own.
  `SELECT * FROM (SELECT count(DISTINCT user_id) AS a, count(user_id) AS n, avg(user_id) AS m FROM events WHERE amount < 3),
     (SELECT count(DISTINCT user_id) AS b, sum(DISTINCT user_id) AS s FROM events WHERE kind = 'view' AND amount > 9)`,
];

test.each([2, 3])(
  'totals of one table are computed in one scan by %i tasks',
  async (partitions) => {
    for (const sql of TOTALS) {
      const plan = await planOf(sql, partitions);
      const scans = scansOf(plan, 'events') + scansOf(plan, 'nulls');
      expect([sql, plan.single, scans]).toEqual([sql, null, 1]);
    }
  },
);

test('totals that could fail, or need rows in other places, keep their own scans', async () => {
  const apart = [
    // For the rows of the other one, the cast fails.
    `SELECT (SELECT sum(text[6:]::INTEGER) FROM types WHERE text BETWEEN 'text ' AND 'texu'), (SELECT count(*) FROM types WHERE id > 9)`,
    `SELECT (SELECT count(DISTINCT user_id) FROM events), (SELECT count(DISTINCT kind) FROM events)`,
    `SELECT (SELECT median(amount) FROM events WHERE id > 9), (SELECT count(*) FROM events WHERE id < 9)`,
  ];
  for (const sql of apart) {
    const plan = await planOf(sql, 2);
    expect([sql, scansOf(plan, 'events') + scansOf(plan, 'types')]).toEqual([sql, 2]);
  }
});

test('totals are shared beside other rows, in common tables and in conditions', async () => {
  const queries = [
    `SELECT id, amount FROM events WHERE amount > (SELECT avg(amount) FROM events) AND id < (SELECT max(id) FROM events WHERE kind = 'buy')`,
    `WITH n AS (SELECT count(*) AS n FROM events WHERE user_id = 3) SELECT a.n, b.n, (SELECT count(*) FROM events) FROM n a, n b`,
    `SELECT kind, count(*) FROM events GROUP BY kind HAVING count(*) > (SELECT count(*) FROM events WHERE user_id < 5) - (SELECT sum(user_id) FROM events WHERE id < 90)`,
  ];
  for (const sql of queries) {
    const plans = [await planOf(sql, 2), await planOf(sql, 4)];
    expect([sql, plans.map(({ single }) => single)]).toEqual([sql, [null, null]]);
  }
});

test('DISTINCT with filters is repartitioned by the value, with groups and without', async () => {
  const queries = [
    `SELECT count(DISTINCT user_id) FILTER (amount > 5), count(DISTINCT user_id) FILTER (kind = 'buy'), count(DISTINCT user_id), sum(amount) FROM events`,
    `SELECT kind, count(DISTINCT user_id) FILTER (amount > 9.5), sum(DISTINCT user_id) FILTER (id % 5 = 0), count(*) FROM events GROUP BY kind`,
    `SELECT b, count(DISTINCT k) FILTER (j > 2), avg(v) FILTER (s = 'a'), count(DISTINCT k) FILTER (s IS NULL) FROM nulls GROUP BY b`,
    `SELECT count(DISTINCT k) FILTER (none > 2), count(DISTINCT k) FILTER (s = 'bb') FROM nulls`,
  ];
  for (const sql of queries) {
    const plan = await planOf(sql, 3);
    expect([sql, plan.stages.length > 1]).toEqual([sql, true]);
    const { answer } = await local.planned.answer(sql, settings(5), grouped(new Dice(1)));
    expect([sql, await here.oracle.judge(sql, answer, {})]).toEqual([sql, null]);
  }
});

const SETS = [
  `SELECT kind, user_id, count(*), sum(amount), avg(amount), min(id) FROM events GROUP BY ROLLUP (kind, user_id)`,
  `SELECT kind, user_id % 5 AS u, grouping(kind) AS a, grouping_id(kind, u) AS b, count(*) FROM events GROUP BY CUBE (kind, u)`,
  `SELECT k, s, grouping(k, s) AS which, count(*) AS n, min(m) AS lo, sum(v) FROM nulls GROUP BY GROUPING SETS ((k), (s), (k, s), ())`,
  `SELECT k, s, count(*) AS n, sum(id) FROM nulls WHERE s = 'bb' GROUP BY ROLLUP (k, s)`,
  `SELECT kind, count(*) FILTER (amount > 5), any_value(kind) FROM events GROUP BY ROLLUP (kind)`,
];

test('few groups of several sets are merged from those of the finest set', async () => {
  for (const sql of SETS) {
    const plan = await planOf(sql, 3, 100_000_000);
    const [first, last] = plan.stages;
    expect([sql, plan.stages.length]).toEqual([sql, 2]);
    expect([sql, /GROUPING SETS/.test(first?.fragment.sql ?? '')]).toEqual([sql, false]);
    expect([sql, /GROUPING SETS/.test(last?.fragment.sql ?? '')]).toEqual([sql, true]);
    // Without a limit for what is gathered, each set is exchanged.
    await planOf(sql, 3);
  }
});

test('without a limit for what is gathered, sets of no rows are exchanged as well', async () => {
  for (const table of ['empty', 'void']) {
    const sql = `SELECT k, d, count(*), sum(id), grouping(k, d) AS g FROM ${table} GROUP BY`;
    for (const sets of ['ROLLUP (k, d)', 'CUBE (k, d)', 'GROUPING SETS ((k, d), ())'])
      expect([sets, (await planOf(`${sql} ${sets}`, 3)).single]).toEqual([sets, null]);
  }
});

/** DuckDB narrows a side of each to the values of another one. */
const NARROWED = [
  `SELECT count(*), sum(a.x) FROM alpha a JOIN nulls n ON a.id = n.k`,
  `SELECT a.id, n.v, t.name FROM alpha a JOIN nulls n ON a.id = n.id JOIN tree t ON n.id = t.id`,
  `SELECT a.id, n.id FROM alpha a LEFT JOIN nulls n ON a.id = n.id`,
  `SELECT n.id, a.id FROM alpha a RIGHT JOIN (SELECT id FROM nulls) n ON a.id = n.id`,
  `SELECT id, g FROM alpha WHERE id IN (SELECT k FROM nulls)`,
  `SELECT id, v FROM nulls n WHERE EXISTS (SELECT 1 FROM tree t WHERE t.id = n.id)`,
  `SELECT id, v FROM nulls n WHERE NOT EXISTS (SELECT 1 FROM tree t WHERE t.id = n.id)`,
  `SELECT g, count(*) FROM (SELECT id AS i, g FROM alpha) JOIN tree ON i = parent GROUP BY g`,
];

test('bounds that a join implies are left to DuckDB', async () => {
  for (const sql of NARROWED) {
    const { stages } = await planOf(sql, 2);
    const repeated = stages.filter(({ fragment }) => /[<>]= -?\d|BETWEEN/.test(fragment.sql));
    expect([sql, repeated]).toEqual([sql, []]);
  }
});

test('a bound that a join implies stays where it keeps rows away from what could fail for them', async () => {
  // "alpha" has more rows than "tree": for the others the cast fails.
  const cast = (id: string) =>
    `CAST(CASE WHEN xor(${id}, 0) <= 90 THEN '1' ELSE 'x' END AS INTEGER)`;
  for (const sql of [
    `SELECT a.id FROM alpha a JOIN tree t ON a.id = t.id WHERE a.id <= 90 AND ${cast('a.id')} = 1`,
    `SELECT a.id, a.one FROM (SELECT id, ${cast('id')} AS one FROM alpha WHERE id <= 90) a JOIN tree t ON a.id = t.id AND a.one = t.id`,
    `SELECT a.id FROM (SELECT id FROM alpha WHERE id <= 90) a JOIN tree t ON a.id = t.id AND ${cast('a.id')} < t.id`,
  ])
    expect([sql, (await planOf(sql, 2)).single]).toEqual([sql, null]);
});

test('bounds that leave out rows with a match stay, and those that are not known to leave out none', async () => {
  const bounded = [
    [`SELECT a.id, n.v FROM alpha a JOIN nulls n ON a.id = n.id WHERE a.id <= 20`, '<= 20'],
    [`SELECT a.id, n.v FROM alpha a JOIN nulls n ON a.id = n.id WHERE n.id BETWEEN 1 AND 400`, '1'],
    [`SELECT n.id, t.name FROM nulls n LEFT JOIN tree t ON n.id = t.id WHERE n.id <= 90`, '<= 90'],
    [`SELECT n.id FROM nulls n WHERE n.id <= 90 AND n.id NOT IN (SELECT id FROM tree)`, '<= 90'],
  ] as const;
  for (const [sql, bound] of bounded) {
    const { stages } = await planOf(sql, 2);
    expect([sql, stages.some(({ fragment }) => fragment.sql.includes(bound))]).toEqual([sql, true]);
  }
});

test('rows that are there already are read again by each task, not copied by a stage', async () => {
  const sql = `SELECT id, kind FROM events e WHERE amount > 9
    AND (EXISTS (SELECT 1 FROM lineitem WHERE l_partkey + 0 = e.id AND l_quantity > 3)
      OR EXISTS (SELECT 1 FROM orders WHERE o_custkey + 1 = e.id))`;
  for (const partitions of [2, 3, 5]) {
    const { answer, plan } = await local.inOrder.answer(sql, settings(partitions, 10_000));
    expect(await here.oracle.judge(sql, answer, {})).toBeNull();
    const copies = plan.stages.filter(
      ({ fragment: { scans, inputs }, output }) =>
        output.kind === 'whole' &&
        [...scans, ...inputs].every((each) => 'mode' in each && each.mode === 'forward'),
    );
    expect([plan.stages.length > 1, copies.map(({ title }) => title)]).toEqual([true, []]);
  }
});
