/** A process is killed right after the leader has decided something of a query; the query goes on, with the same decision. */
import { expect } from 'vitest';
import type { QueryShape } from '../../src/scheduler/contract/index.ts';
import type { Answer } from './contract-values.ts';
import type { scratch } from './scratch.ts';
import { startSqlCluster } from './sql-cluster.ts';
import { knownQueries } from './trial.ts';

const ENOUGH_MS = 180_000;

/** Who is killed, of how many workers, and how many partitions there are. */
export const KILLED = [
  ['the leader', 2, 4],
  ['a worker', 2, 4],
  ['the only worker, which has one slot,', 1, 16],
] as const;

const q21 = knownQueries().find(({ name }) => name === 'q21')!;

/** `kind` is that of the tasks that the leader decides, `sN.KIND`. Returns the stages as they are shown at the end. */
export async function killedAfterDecision(
  { tables, oracle }: ReturnType<typeof scratch>,
  kind: 'filter' | 'join',
  [who, workers, shufflePartitions]: readonly [who: string, workers: number, partitions: number],
  chosen: Readonly<Record<string, number>>,
): Promise<QueryShape['stages']> {
  const { cluster } = await startSqlCluster(tables, workers, 1);
  const { client } = cluster;
  const get = (path: string): Promise<unknown> => client.call({ method: 'GET', path });
  const { asOf } = (await get('/api/v1/jobs?limit=1')) as { asOf: { readonly seq: number } };
  const settings = { ...chosen, shufflePartitions };
  const body = { sql: q21.sql, tables: tables.specs, settings, idempotencyKey: 'q21' };
  // Planning may take longer on a busy machine than the client of the rig waits.
  const submitted = await fetch(new URL('/api/v1/queries', cluster.urls[0]), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const { id } = (await submitted.json()) as { readonly id: string };
  const signal = AbortSignal.timeout(ENOUGH_MS);
  const isDecision = new RegExp(`"s\\d+\\.${kind}"`);
  for await (const { event, data } of client.events({ after: asOf.seq, signal }))
    if (event === 'completed' && isDecision.test(data)) break;
  const victim = who === 'the leader' ? cluster.nodes[0]! : cluster.workers[0]!;
  await victim.process.crash();
  await victim.start();
  expect(await client.waitForJob(id, ENOUGH_MS)).toMatchObject({ state: 'succeeded' });
  const { stages } = (await get(`/api/v1/queries/${id}`)) as QueryShape;
  const answer = (await get(`/api/v1/queries/${id}/results?format=json`)) as Answer;
  expect(await oracle.judge(q21.sql, answer, q21.leeway)).toBeNull();
  const job = (await get(`/api/v1/jobs/${id}`)) as { tasks: { id: string; run: number }[] };
  const decisions = job.tasks.filter((task) => task.id.endsWith(`.${kind}`));
  // Each was decided once: nothing of this query is non-deterministic.
  expect(decisions.map(({ run }) => run)).toEqual(decisions.map(() => 1));
  await cluster.stop();
  return stages;
}
