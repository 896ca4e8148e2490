import { expect, test } from 'vitest';
import { quickBenchmarks } from '../rig/quick-benchmarks.ts';

test('all other benchmarks run at a tiny size, and their audits hold', async () => {
  await quickBenchmarks({
    stores: 'postgres / hand-written',
    failover: 'worker killed -> its task runs again, longest',
    throughput: 'submitted and done, millrace / graphile-worker tuned',
    embedded: 'queued and done, against graphile-worker',
    latency: 'millrace-http / graphile-worker, p99',
    growth: 'kill -9 of the leader to the next job accepted',
    large: 'tasks, for each task',
    idle: 'statements a second, 20 workers',
    smallest: 'added to the time of DuckDB, p50',
    shuffle: 'speed of the shuffle with fetching / DuckDB',
    skew: 'one key in half of the rows / even keys',
    straggler: 'one worker slow / none slow',
    tpch: '22 queries, cluster / DuckDB',
    mixed: '10 ms tasks beside 2 queries, p99',
  });
  expect.hasAssertions();
}, 600_000);
