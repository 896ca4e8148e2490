import { expect, test } from 'vitest';
import { quickBenchmarks } from './fixture/quick-benchmarks.ts';

test('every benchmark of the scheduler runs at a tiny size, and its audit holds', async () => {
  await quickBenchmarks({
    scheduler: 'memory a queued task',
    stores: 'postgres / hand-written',
    throughput: 'handed in and done, millrace / graphile-worker tuned',
    embedded: 'queued and done, against graphile-worker',
    latency: 'millrace-http / graphile-worker, p99',
    growth: 'kill -9 of the leader to the next job accepted',
    idle: 'statements a second, 20 workers',
    overhead: 'cluster / in one process',
    failover: 'worker killed -> its task runs again, longest',
  });
  expect.hasAssertions();
}, 600_000);
