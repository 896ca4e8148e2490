import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { PlanSettings } from '../../src/query/index.ts';
import type { Answer } from './contract-values.ts';
import { PlannedQueries } from './planned.ts';
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
beforeAll(async () => {
  planned = await PlannedQueries.open(here.tables);
});
afterAll(() => planned.close());

const shuffled = async (sql: string): Promise<Answer> =>
  (await planned.answer(sql, SHUFFLED)).answer;

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

test('random queries are divided without a trace', async () => {
  const wrong: string[] = [];
  for (let seed = 1; seed <= 25; seed += 1)
    wrong.push(...[(await tryRandom(here.oracle, seed, shuffled)).wrong].filter((w) => w !== null));
  for (let seed = 1; seed <= 8; seed += 1)
    wrong.push(...[(await tryPair(here.oracle, seed, shuffled)).wrong].filter((w) => w !== null));
  expect(wrong).toEqual([]);
});
