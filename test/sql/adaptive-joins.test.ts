import { expect, test, vi } from 'vitest';
import type { PlanSettings } from '../../src/sql/plan/index.ts';
import type { Answer } from './contract-values.ts';
import { openPlanned, grouped, split } from './planned.ts';
import { Dice } from './random/dice.ts';
import { scratch } from './scratch.ts';
import { knownQueries, sample, tryKnown, tryRandom } from './trial.ts';

// Room for a busy machine: alone it takes seconds.
vi.setConfig({ testTimeout: 240_000 });
const here = scratch();
/** Whether a side is broadcast is decided by its size wherever that is allowed. */
const ADAPTIVE: PlanSettings = {
  partitions: 3,
  broadcastThresholdBytes: 1e9,
  singleFragmentBytes: 0,
  adaptiveJoins: 2,
};

const local = openPlanned(here);

/** Each decision alone, as if sizes had been this way or that. */
const decidedBy = (dice: Dice) => (): boolean => dice.below(4) > 0;

test('joins whose smaller side is known first give what the query gives', async () => {
  const queries = knownQueries().filter(
    ({ sql, isRefused }) => local.planned.has(sql) && !isRefused,
  );
  const tpch = queries.filter(({ name }) => /^q(02|03|05|07|09|13|16|17|18|20|21|22)$/.test(name));
  const joins = queries.filter(({ name }) => /^(joins|subqueries|ctes): /.test(name));
  const chosen = [...tpch, ...sample(joins, 14)];
  const wrong: string[] = [];
  let adaptive = 0;
  for (const [at, query] of chosen.entries()) {
    const settings = { ...ADAPTIVE, partitions: at % 4 === 3 ? 7 : 3, runtimeFilters: at % 3 };
    const dice = new Dice(at);
    const found = await tryKnown(here.oracle, query, async (sql) => {
      const on = at % 3 === 2 ? local.inOrder : local.planned;
      const grouping = [grouped, split, null][at % 3]?.(dice);
      const { plan, answer } = await on.answer(sql, settings, grouping, decidedBy(dice));
      if (plan.joins !== undefined) adaptive += 1;
      return answer;
    });
    if (found !== null) wrong.push(found);
  }
  expect(wrong).toEqual([]);
  expect(adaptive).toBeGreaterThan(tpch.length / 2);
});

test('so do those of random queries', async () => {
  const wrong: string[] = [];
  let adaptive = 0;
  for (let seed = 1; seed <= 30; seed += 1) {
    const dice = new Dice(seed);
    const settings = { ...ADAPTIVE, runtimeFilters: seed % 3 };
    const run = async (sql: string): Promise<Answer> => {
      const { plan, answer } = await local.planned.answer(
        ...([sql, settings, undefined, decidedBy(dice)] as const),
      );
      if (plan.joins !== undefined) adaptive += 1;
      return answer;
    };
    wrong.push((await tryRandom(here.oracle, seed, run)).wrong ?? '');
  }
  expect(wrong.filter((each) => each !== '')).toEqual([]);
  expect(adaptive).toBeGreaterThan(3);
});
