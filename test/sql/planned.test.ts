import { expect, test, vi } from 'vitest';
import { coalescedStages } from '../../src/sql/plan/index.ts';
import type { PlanSettings } from '../../src/sql/plan/index.ts';
import type { Answer } from './contract-values.ts';
import { openPlanned, grouped, split as splitUp } from './planned.ts';
import { Dice } from './random/dice.ts';
import { scratch } from './scratch.ts';
import { knownQueries, sample, tryKnown, tryPair, tryRandom } from './trial.ts';

// Room for a busy machine: alone it takes seconds.
vi.setConfig({ testTimeout: 120_000 });
const here = scratch();
const SHUFFLED: PlanSettings = {
  partitions: 4,
  broadcastThresholdBytes: 0,
  singleFragmentBytes: 0,
};

const local = openPlanned(here);

const shuffled = async (sql: string): Promise<Answer> =>
  (await local.planned.answer(sql, SHUFFLED)).answer;
/** Plans in which a table was range-partitioned. */
let split = 0;
const byValues = async (sql: string): Promise<Answer> => {
  const { plan, answer } = await local.inOrder.answer(sql, SHUFFLED);
  const scans = plan.stages.flatMap(({ fragment }) => fragment.scans);
  if (scans.some((scan) => scan.split !== undefined)) split += 1;
  return answer;
};

test('fragments on one node give what the query gives', async () => {
  const queries = knownQueries().filter(
    ({ sql, isRefused }) => local.planned.has(sql) && !isRefused,
  );
  const chosen = [...queries.filter(({ name }) => /^q\d\d$/.test(name)), ...sample(queries, 9)];
  const wrong: string[] = [];
  for (const query of chosen) {
    const found = await tryKnown(here.oracle, query, shuffled);
    if (found !== null) wrong.push(found);
  }
  expect(wrong).toEqual([]);
});

test('range-partitioned tables give what the query gives', async () => {
  const queries = knownQueries().filter(
    ({ sql, isRefused }) => local.inOrder.has(sql) && !isRefused,
  );
  const chosen = [...queries.filter(({ name }) => /^q\d\d$/.test(name)), ...sample(queries, 11)];
  const wrong: string[] = [];
  for (const query of chosen) {
    const found = await tryKnown(here.oracle, query, byValues);
    if (found !== null) wrong.push(found);
  }
  expect(wrong).toEqual([]);
  expect(split).toBeGreaterThan(chosen.length / 2);
});

test('coalesced partitions give what the query gives', async () => {
  const queries = knownQueries().filter(
    ({ sql, isRefused }) => local.planned.has(sql) && !isRefused,
  );
  const chosen = [
    ...queries.filter(({ name }) => /^q\d[1379]$/.test(name)),
    ...sample(queries, 17),
  ];
  const wrong: string[] = [];
  let coalesced = 0;
  for (const [at, query] of chosen.entries()) {
    const partitions = at % 4 === 3 ? 16 : 4;
    const dice = new Dice(at);
    const found = await tryKnown(here.oracle, query, async (sql) => {
      const on = at % 2 === 0 ? local.planned : local.inOrder;
      const { plan, answer } = await on.answer(sql, { ...SHUFFLED, partitions }, grouped(dice));
      if (coalescedStages(plan).length > 0) coalesced += 1;
      return answer;
    });
    if (found !== null) wrong.push(found);
  }
  expect(wrong).toEqual([]);
  expect(coalesced).toBeGreaterThan(chosen.length / 2);
});

test('partitions that several tasks read give what the query gives', async () => {
  const queries = knownQueries().filter(
    ({ sql, isRefused }) => local.planned.has(sql) && !isRefused,
  );
  const chosen = [
    ...queries.filter(({ name }) => /^q\d[02458]$/.test(name)),
    ...sample(queries, 13, 5),
  ];
  const wrong: string[] = [];
  let splits = 0;
  for (const [at, query] of chosen.entries()) {
    const dice = new Dice(at);
    const found = await tryKnown(here.oracle, query, async (sql) => {
      const on = at % 2 === 0 ? local.planned : local.inOrder;
      const { plan, answer } = await on.answer(sql, SHUFFLED, splitUp(dice));
      if (coalescedStages(plan).some((stage) => stage.splits !== undefined)) splits += 1;
      return answer;
    });
    if (found !== null) wrong.push(found);
  }
  expect(wrong).toEqual([]);
  expect(splits).toBeGreaterThan(chosen.length / 4);
});

test('a stage is split where one input may lie in any tasks, and only there', async () => {
  const joined = 'FROM orders o JOIN lineitem l ON o.o_orderkey = l.l_orderkey';
  const left = 'FROM orders o LEFT JOIN lineitem l ON o.o_orderkey = l.l_orderkey';
  const full = 'FROM orders o FULL JOIN lineitem l ON o.o_orderkey = l.l_orderkey';
  const linked = 'SELECT 1 FROM lineitem l WHERE l.l_orderkey = o.o_orderkey AND l.l_quantity > 49';
  const expected: readonly (readonly [string, number])[] = [
    [`SELECT o.o_comment, l.l_comment ${joined}`, 2],
    [`SELECT o.o_comment, count(*), sum(l.l_quantity) ${joined} GROUP BY o.o_comment`, 2],
    [`SELECT o.o_comment, l.l_comment ${left}`, 1],
    [`SELECT o_comment FROM orders o WHERE EXISTS (${linked})`, 1],
    [`SELECT o_comment FROM orders o WHERE NOT EXISTS (${linked})`, 1],
    [`SELECT o.o_comment, l.l_comment ${full}`, 0],
    // NOT IN has to tell a match from an unknown one.
    ['SELECT o_comment FROM orders WHERE o_orderkey NOT IN (SELECT l_partkey FROM lineitem)', 0],
    // All rows of a group, or of a window, must be in one task.
    [`SELECT o.o_orderkey, count(*) ${joined} GROUP BY o.o_orderkey`, 0],
    [`SELECT row_number() OVER (PARTITION BY o.o_orderkey ORDER BY l.l_linenumber) ${joined}`, 0],
    [`SELECT count(DISTINCT o.o_orderkey) ${joined}`, 0],
    // A sum of floating-point numbers is another one each time.
    [`SELECT o.o_comment, sum(l.l_quantity::DOUBLE) ${joined} GROUP BY o.o_comment`, 0],
  ];
  const found: (readonly [string, number])[] = [];
  for (const [sql] of expected) {
    const { plan } = await local.planned.answer(sql, SHUFFLED);
    const joins = plan.stages.filter(({ operators }) => /join/.test(operators.join()));
    found.push([sql, Math.max(...joins.map(({ splits = [] }) => splits.length))]);
  }
  expect(found).toEqual(expected);
});

test('rows that wait for a scalar subquery are made meanwhile if few are left of them', async () => {
  const sums = 'SELECT ps_partkey AS k, sum(ps_supplycost) AS s FROM partsupp GROUP BY ps_partkey';
  const mean = '(SELECT avg(ps_supplycost) FROM partsupp)';
  const settings = { ...SHUFFLED, broadcastThresholdBytes: 2 ** 25 };
  const none = '(SELECT max(ps_supplycost) FROM partsupp WHERE ps_partkey < 0)';
  const queries = [
    ...[mean, none].map((row) => `SELECT * FROM (${sums}) WHERE s > ${row} ORDER BY s, k`),
    `SELECT k, s > ${mean} AS b FROM (${sums}) ORDER BY k`,
    `SELECT count(*), sum(s) FROM (${sums}) WHERE s > ${mean} AND s < 9 * ${mean}`,
  ];
  for (const sql of queries) {
    const { plan, answer } = await local.inOrder.answer(sql, settings);
    const expected = (await here.oracle.answer(sql)).rows;
    expect(answer.rows).toEqual(expected);
    expect((await local.inOrder.answer(sql, SHUFFLED)).answer.rows).toEqual(expected);
    const isWaiting = plan.stages.some(({ tasks, fragment }) =>
      fragment.inputs.some(({ mode }) => tasks > 1 && mode === 'all'),
    );
    expect([sql, isWaiting]).toEqual([sql, false]);
  }
});

test('the nearest vectors are found by all nodes together', async () => {
  const queries = knownQueries().filter(({ name }) => name.startsWith('vectors: '));
  expect(queries.length).toBeGreaterThan(5);
  for (const query of queries) {
    expect(await tryKnown(here.oracle, query, shuffled)).toBeNull();
    const { plan } = await local.planned.answer(query.sql, SHUFFLED);
    expect(plan.single).toBeNull();
    expect(plan.stages[0]?.tasks).toBe(4);
  }
});

test('each task keeps only the first rows of a group', async () => {
  const queries = knownQueries().filter(({ name }) => name.startsWith('windows: ranked'));
  expect(queries).toHaveLength(7);
  for (const query of queries) {
    expect(await tryKnown(here.oracle, query, shuffled)).toBeNull();
    const { plan } = await local.planned.answer(query.sql, SHUFFLED);
    expect(plan.stages[0]?.operators.join()).toContain('(partial)');
  }
});

test('distributing random queries does not change their rows', async () => {
  const wrong: string[] = [];
  const coalesced =
    (seed: number): typeof shuffled =>
    async (sql) =>
      (await local.planned.answer(sql, SHUFFLED, grouped(new Dice(seed)))).answer;
  const inPieces =
    (seed: number): typeof shuffled =>
    async (sql) =>
      (await local.planned.answer(sql, SHUFFLED, splitUp(new Dice(seed)))).answer;
  const run = (seed: number): typeof shuffled =>
    [byValues, shuffled, coalesced(seed), inPieces(seed)][seed % 4] as typeof shuffled;
  for (let seed = 1; seed <= 25; seed += 1)
    wrong.push((await tryRandom(here.oracle, seed, run(seed))).wrong ?? '');
  for (let seed = 1; seed <= 8; seed += 1)
    wrong.push((await tryPair(here.oracle, seed, run(seed))).wrong ?? '');
  expect(wrong.filter((each) => each !== '')).toEqual([]);
});
