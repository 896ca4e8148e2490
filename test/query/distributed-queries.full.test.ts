import { afterAll, beforeAll, describe, expect, test } from 'vitest';
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
