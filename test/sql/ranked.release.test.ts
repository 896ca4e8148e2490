/** Random queries of which only the first rows of each group are kept, ranked in every way that has a partial phase. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { difference } from './compare.ts';
import { PlannedQueries } from './planned.ts';
import { Dice } from './random/dice.ts';
import { randomQuery } from './random/queries.ts';
import { scratch } from './scratch.ts';

vi.setConfig({ testTimeout: 120_000 });
const here = scratch();
const SETTINGS = { partitions: 4, broadcastThresholdBytes: 0, singleFragmentBytes: 0 };
const SEEDS = 80;

let planned: PlannedQueries;
beforeAll(async () => {
  planned = await PlannedQueries.open(here.tables);
});
afterAll(() => planned.close());

test('the first rows of random queries are those of DuckDB', async () => {
  const wrong: string[] = [];
  let partial = 0;
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const sql = await ranked(seed);
    const own = sql === null ? null : await here.oracle.answer(sql).catch(() => null);
    if (sql === null || own === null) continue;
    const { answer, plan } = await planned.answer(sql, SETTINGS);
    if (plan.stages.some(({ operators }) => /filter .*\(partial\)/.test(operators.join('\n'))))
      partial += 1;
    const found = difference(own, answer, { floor: 1e-7 }, null);
    if (found !== null) wrong.push(`${seed}: ${found}\n${sql}`);
  }
  expect(wrong).toEqual([]);
  expect(partial).toBeGreaterThan(SEEDS / 8);
});

/** Null if the query has no columns to rank by. Equal rows have equal ranks, so ties leave nothing open. */
async function ranked(seed: number): Promise<string | null> {
  const dice = new Dice(seed);
  const { sql } = randomQuery(seed);
  const described = await here.oracle.answer(`DESCRIBE ${sql}`).catch(() => null);
  if (described === null) return null;
  const types = described.rows.map(([, type]) => type as string);
  const names = types.map((_, at) => `k${at}`);
  const firm = names.filter((_, at) => !/FLOAT|DOUBLE/.test(types[at] ?? ''));
  const [first] = firm;
  if (first === undefined) return null;
  const rank = dice.pick(['rank', 'dense_rank']);
  const partition = dice.pick(['', `PARTITION BY ${first} IS NULL `, `PARTITION BY ${first} `]);
  const order = dice.some(firm, firm.length).map((name) => `${name}${dice.pick(['', ' DESC'])}`);
  const bound = dice.pick(['<= 3', '< 4', '= 2', '<= 0', '<= 10 AND r % 2 = 1']);
  return `SELECT * FROM (SELECT *, ${rank}() OVER (${partition}ORDER BY ${order.join(', ')}) AS r
    FROM (${sql}) AS q(${names.join(', ')})) WHERE r ${bound}`;
}
