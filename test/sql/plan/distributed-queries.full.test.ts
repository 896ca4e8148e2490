import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { planQuery } from '../../../src/sql/plan/index.ts';
import { FORCED, LocalQueries, SHARED, TPCH_NAMES, tpchSql } from './local-queries.ts';
import { traps } from './trap-queries.ts';

let queries: LocalQueries;
beforeAll(async () => {
  queries = await LocalQueries.open(0.02);
});
afterAll(() => queries.close());

const settings = [1, 2, 4, 16].flatMap((partitions) => [
  [`${partitions} parts by hash`, { ...FORCED, partitions }] as const,
  [`${partitions} parts, small tables in every task`, { ...SHARED, partitions }] as const,
  [
    `${partitions} parts, all sent that may be`,
    { ...FORCED, broadcastThresholdBytes: 2 ** 30, partitions },
  ] as const,
]);

describe.each(settings)('%s', (_name, given) => {
  test.each(Object.entries(traps))('%s', async (_trap, sql) => {
    const { given: answer, own } = await queries.ask(sql, given);
    expect(answer).toEqual(own);
  });

  test.each(TPCH_NAMES)('TPC-H %s', async (name) => {
    const { given: answer, own } = await queries.ask(tpchSql(name), given);
    expect(answer).toEqual(own);
  });
});

test('TPC-H is planned in less than 10 ms a query', async () => {
  let sum = 0;
  for (const name of TPCH_NAMES) {
    const input = await queries.planner.input(tpchSql(name), { ...FORCED, partitions: 16 });
    const times = Array.from({ length: 5 }, () => {
      const before = performance.now();
      planQuery(input);
      return performance.now() - before;
    });
    sum += Math.min(...times);
  }
  expect(sum / TPCH_NAMES.length).toBeLessThan(10);
});
