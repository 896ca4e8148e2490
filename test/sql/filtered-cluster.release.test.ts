import { expect, test, vi } from 'vitest';
import type { QueryShape } from '../../src/scheduler/contract/index.ts';
import type { Answer } from './contract-values.ts';
import { scratch } from './scratch.ts';
import { FILTERED, startSqlCluster } from './sql-cluster.ts';
import { knownQueries } from './trial.ts';

// Real processes on a machine that may be busy with others.
vi.setConfig({ testTimeout: 240_000 });
const here = scratch();
const ENOUGH_MS = 180_000;

const q21 = knownQueries().find(({ name }) => name === 'q21')!;

test.each([
  ['the leader', 2, 4],
  ['a worker', 2, 4],
  ['the only worker, which has one slot,', 1, 16],
] as const)(
  'a filter stays the same when %s is killed right after it was decided',
  async (who, workers, shufflePartitions) => {
    const { cluster } = await startSqlCluster(here.tables, workers, 1);
    const { client } = cluster;
    const get = (path: string): Promise<unknown> => client.call({ method: 'GET', path });
    const { asOf } = (await get('/api/v1/jobs?limit=1')) as { asOf: { readonly seq: number } };
    const settings = { ...FILTERED, shufflePartitions };
    const body = { sql: q21.sql, tables: here.tables.specs, settings, idempotencyKey: 'q21' };
    // Planning may take longer on a busy machine than the client of the rig waits.
    const submitted = await fetch(new URL('/api/v1/queries', cluster.urls[0]), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const { id } = (await submitted.json()) as { readonly id: string };
    const signal = AbortSignal.timeout(ENOUGH_MS);
    for await (const { event, data } of client.events({ after: asOf.seq, signal }))
      if (event === 'completed' && /"s\d+\.filter"/.test(data)) break;
    const victim = who === 'the leader' ? cluster.nodes[0]! : cluster.workers[0]!;
    await victim.process.crash();
    await victim.start();
    expect(await client.waitForJob(id, ENOUGH_MS)).toMatchObject({ state: 'succeeded' });
    const shown = (await get(`/api/v1/queries/${id}`)) as QueryShape;
    const answer = (await get(`/api/v1/queries/${id}/results?format=json`)) as Answer;
    expect(await here.oracle.judge(q21.sql, answer, q21.leeway)).toBeNull();
    const filters = shown.stages.flatMap((stage) => stage.filters);
    expect(filters.length).toBeGreaterThan(2);
    expect(filters.filter(({ by }) => by === 'none')).toEqual([]);
    const job = (await get(`/api/v1/jobs/${id}`)) as { tasks: { id: string; run: number }[] };
    const decisions = job.tasks.filter((task) => task.id.endsWith('.filter'));
    // Each was decided once: nothing of this query is non-deterministic.
    expect(decisions.map(({ run }) => run)).toEqual(decisions.map(() => 1));
    await cluster.stop();
  },
);
