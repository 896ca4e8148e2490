import { expect, test } from 'vitest';
import { quickBenchmarks } from '../rig/quick-benchmarks.ts';

test('benchmarks run at a tiny size, and their audits hold', async () => {
  await quickBenchmarks({
    scheduler: 'memory a queued task',
    overhead: 'cluster / in one process',
    retail: 'queries distributed',
  });
  expect.hasAssertions();
}, 600_000);
