import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { coalescedStages } from '../../src/sql/plan/index.ts';
import type { PlanSettings } from '../../src/sql/plan/index.ts';
import type { Answer } from './contract-values.ts';
import { PlannedQueries, grouped } from './planned.ts';
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

let planned: PlannedQueries;
/** Over the same tables, which it takes to be in the order of every number that they have. */
let inOrder: PlannedQueries;
beforeAll(async () => {
  planned = await PlannedQueries.open(here.tables);
  inOrder = await PlannedQueries.open(here.tables, true);
});
afterAll(() => {
  planned.close();
  inOrder.close();
});

const shuffled = async (sql: string): Promise<Answer> =>
  (await planned.answer(sql, SHUFFLED)).answer;
/** Plans in which a table was range-partitioned. */
let split = 0;
const byValues = async (sql: string): Promise<Answer> => {
  const { plan, answer } = await inOrder.answer(sql, SHUFFLED);
  const scans = plan.stages.flatMap(({ fragment }) => fragment.scans);
  if (scans.some((scan) => scan.split !== undefined)) split += 1;
  return answer;
};

test('fragments on one node give what the query gives', async () => {
  const queries = knownQueries().filter(({ sql, isRefused }) => planned.has(sql) && !isRefused);
  const chosen = [...queries.filter(({ name }) => /^q\d\d$/.test(name)), ...sample(queries, 9)];
  const wrong: string[] = [];
  for (const query of chosen) {
    const found = await tryKnown(here.oracle, query, shuffled);
    if (found !== null) wrong.push(found);
  }
  expect(wrong).toEqual([]);
});

test('range-partitioned tables give what the query gives', async () => {
  const queries = knownQueries().filter(({ sql, isRefused }) => inOrder.has(sql) && !isRefused);
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
  const queries = knownQueries().filter(({ sql, isRefused }) => planned.has(sql) && !isRefused);
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
      const on = at % 2 === 0 ? planned : inOrder;
      const { plan, answer } = await on.answer(sql, { ...SHUFFLED, partitions }, grouped(dice));
      if (coalescedStages(plan).length > 0) coalesced += 1;
      return answer;
    });
    if (found !== null) wrong.push(found);
  }
  expect(wrong).toEqual([]);
  expect(coalesced).toBeGreaterThan(chosen.length / 2);
});

test('the nearest vectors are found by all nodes together', async () => {
  const queries = knownQueries().filter(({ name }) => name.startsWith('vectors: '));
  expect(queries.length).toBeGreaterThan(5);
  for (const query of queries) {
    expect(await tryKnown(here.oracle, query, shuffled)).toBeNull();
    const { plan } = await planned.answer(query.sql, SHUFFLED);
    expect(plan.single).toBeNull();
    expect(plan.stages[0]?.tasks).toBe(4);
  }
});

test('each task keeps only the first rows of a group', async () => {
  const queries = knownQueries().filter(({ name }) => name.startsWith('windows: ranked'));
  expect(queries).toHaveLength(7);
  for (const query of queries) {
    expect(await tryKnown(here.oracle, query, shuffled)).toBeNull();
    const { plan } = await planned.answer(query.sql, SHUFFLED);
    expect(plan.stages[0]?.operators.join()).toContain('(partial)');
  }
});

test('random queries are distributed without a trace', async () => {
  const wrong: string[] = [];
  const coalesced =
    (seed: number): typeof shuffled =>
    async (sql) =>
      (await planned.answer(sql, SHUFFLED, grouped(new Dice(seed)))).answer;
  const run = (seed: number): typeof shuffled =>
    [byValues, shuffled, coalesced(seed)][seed % 3] as typeof shuffled;
  for (let seed = 1; seed <= 25; seed += 1)
    wrong.push((await tryRandom(here.oracle, seed, run(seed))).wrong ?? '');
  for (let seed = 1; seed <= 8; seed += 1)
    wrong.push((await tryPair(here.oracle, seed, run(seed))).wrong ?? '');
  expect(wrong.filter((each) => each !== '')).toEqual([]);
});
