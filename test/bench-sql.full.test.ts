import { expect, test } from 'vitest';
import { quickBenchmarks } from './fixture/quick-benchmarks.ts';

test('every benchmark of queries runs at a tiny size, and its audit holds', async () => {
  await quickBenchmarks({
    smallest: 'added to the time of DuckDB, p50',
    shuffle: 'speed of the shuffle with fetching / DuckDB',
    tpch: '22 queries, cluster / DuckDB',
  });
  expect.hasAssertions();
}, 600_000);
