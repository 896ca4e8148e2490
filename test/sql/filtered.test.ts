import { expect, test, vi } from 'vitest';
import type { PlanSettings } from '../../src/sql/plan/index.ts';
import type { Answer } from './contract-values.ts';
import { openPlanned, grouped } from './planned.ts';
import { Dice } from './random/dice.ts';
import { scratch } from './scratch.ts';
import { knownQueries, sample, tryKnown, tryRandom } from './trial.ts';

// Room for a busy machine: alone it takes seconds.
vi.setConfig({ testTimeout: 240_000 });
const here = scratch();
/** Everything is repartitioned, and filtered wherever that is allowed. */
const FILTERED: PlanSettings = {
  partitions: 3,
  broadcastThresholdBytes: 0,
  singleFragmentBytes: 0,
  runtimeFilters: 2,
};

const local = openPlanned(here);

test('filtered scans give what the query gives', async () => {
  const queries = knownQueries().filter(
    ({ sql, isRefused }) => local.planned.has(sql) && !isRefused,
  );
  // Those with several joins.
  const tpch = queries.filter(({ name }) => /^q(02|05|07|09|13|16|17|18|20|21|22)$/.test(name));
  const joins = queries.filter(({ name }) => /^(joins|subqueries|ctes): /.test(name));
  const chosen = [...tpch, ...sample(joins, 9)];
  const wrong: string[] = [];
  let filtered = 0;
  for (const [at, query] of chosen.entries()) {
    const partitions = at % 4 === 3 ? 7 : 3;
    const found = await tryKnown(here.oracle, query, async (sql) => {
      const on = at % 3 === 2 ? local.inOrder : local.planned;
      const grouping = at % 2 === 0 ? grouped(new Dice(at)) : undefined;
      const { plan, answer } = await on.answer(sql, { ...FILTERED, partitions }, grouping);
      if (plan.filters !== undefined) filtered += 1;
      return answer;
    });
    if (found !== null) wrong.push(found);
  }
  expect(wrong).toEqual([]);
  expect(filtered).toBeGreaterThan(tpch.length / 2);
});

test('filtered scans of random queries give what the queries give', async () => {
  const wrong: string[] = [];
  let filtered = 0;
  for (let seed = 1; seed <= 25; seed += 1) {
    const run = async (sql: string): Promise<Answer> => {
      const { plan, answer } = await local.planned.answer(sql, FILTERED);
      if (plan.filters !== undefined) filtered += 1;
      return answer;
    };
    wrong.push((await tryRandom(here.oracle, seed, run)).wrong ?? '');
  }
  expect(wrong.filter((each) => each !== '')).toEqual([]);
  expect(filtered).toBeGreaterThan(3);
});
