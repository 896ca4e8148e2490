/** Settings that limit, place and remove what queries leave, and when a node is distrusted: on real processes. */
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { Cluster } from '../rig/cluster/cluster.ts';
import { eventsOf, expectCleanEnd, startTestCluster } from '../rig/cluster/test-cluster.ts';
import { RefusedCall } from '../rig/cluster/client.ts';
import { until } from '../rig/until.ts';
import { writeParquet } from '../sql/node/node.ts';

const MILLRACE = new URL('../../dist/client/millrace.js', import.meta.url).href;
const LIMIT_MS = 60_000;

/** An operator that returns nothing until the gate is open. */
function gateModule(cluster: Cluster): string {
  const file = cluster.file('gate.mjs');
  writeFileSync(
    file,
    `import { existsSync } from 'node:fs';
     import { setTimeout } from 'node:timers/promises';
     import { defineOperator } from ${JSON.stringify(MILLRACE)};
     export default defineOperator({
       name: 'gate', output: { k: 'BIGINT', n: 'BIGINT' }, distribution: 'single',
       async *run(batches) {
         while (!existsSync(${JSON.stringify(cluster.file('open'))})) await setTimeout(20);
         yield* batches;
       },
     });`,
  );
  return file;
}

const filesIn = (folder: string): readonly string[] =>
  existsSync(folder) ? readdirSync(folder, { recursive: true }).map(String) : [];
const outputsIn = (folder: string): readonly string[] =>
  filesIn(folder).filter((name) => /outputs\/.*\.parquet$/.test(name));

interface TaskEvent {
  readonly kind: string;
  readonly task?: string | null;
}

/** The most tasks that were assigned at the same time. */
async function mostAtOnce(cluster: Cluster, job: string): Promise<number> {
  const running = new Set<string>();
  let most = 0;
  for (const { kind, task } of (await eventsOf(cluster, job)) as readonly TaskEvent[]) {
    if (kind === 'assigned') running.add(task ?? '');
    else if (['completed', 'failed', 'retried', 'released', 'reassigned'].includes(kind))
      running.delete(task ?? '');
    most = Math.max(most, running.size);
  }
  return most;
}

test('queries keep to the limits, folders and times that are set, and one job can put a node into quarantine', async () => {
  const fixture = await startTestCluster({
    workers: 0,
    settings: {
      ...{ tasksPerQuery: 2, slotsPerNode: 3, sessionTtlMs: 30_000, nodeDeadMs: 40_000 },
      ...{ queryRetentionMs: 2_000, pruneEveryMs: 300 },
      ...{ quarantineFailures: 2, quarantineJobs: 1 },
    },
  });
  const { cluster } = fixture;
  const { client } = cluster;
  const [shuffle, spill, table] = ['shuffle', 'spill', 't.parquet'].map((name) =>
    cluster.file(name),
  ) as [string, string, string];
  await writeParquet(
    { [table]: 'SELECT i % 9 AS k FROM range(20000) t(i)' },
    'row_group_size 2048',
  );
  const args = ['--shuffle-folder', shuffle, '--spill-folder', spill, '--clean-up-ms', '200ms'];
  const worker = await cluster.startWorker({ modules: [gateModule(cluster)], args });
  expect(await client.nodes()).toMatchObject([{ id: worker.id, slots: 3 }]);

  // The operator holds the query: what earlier stages have made lies where it should, and nowhere else.
  const sql = 'SELECT k, n FROM gate((SELECT k, count(*) AS n FROM t GROUP BY k)) ORDER BY k';
  const settings = { singleFragmentBytes: 0, broadcastThresholdBytes: 0, shufflePartitions: 4 };
  const body = { sql, tables: { t: table }, settings, idempotencyKey: 'gated' };
  const { id } = (await client.call({ method: 'POST', path: '/api/v1/queries', body })) as {
    id: string;
  };
  await until(async () => outputsIn(shuffle).length > 0, 'outputs of a stage', LIMIT_MS);
  await until(
    async () => filesIn(spill).some((name) => /engine-/.test(name)),
    'an engine',
    LIMIT_MS,
  );
  expect(outputsIn(cluster.file(worker.id))).toEqual([]);
  expect(outputsIn(spill)).toEqual([]);
  writeFileSync(cluster.file('open'), '');
  expect(await client.waitForJob(id, LIMIT_MS)).toMatchObject({ state: 'succeeded' });
  expect(await mostAtOnce(cluster, id)).toBe(2);
  await until(async () => outputsIn(shuffle).length === 0, 'outputs to be removed', LIMIT_MS);

  // The query is forgotten before other jobs are.
  const job = await client.submit({ tasks: [{ id: 'a', executor: 'note' }] });
  await client.waitForJob(job.id);
  const isForgotten = async (): Promise<boolean> =>
    client.call({ method: 'GET', path: `/api/v1/queries/${id}` }).then(
      () => false,
      (error: unknown) => error instanceof RefusedCall && error.status === 404,
    );
  await until(isForgotten, 'the query to be forgotten', LIMIT_MS);
  expect(await client.job(job.id)).toMatchObject({ state: 'succeeded' });

  const task = { executor: 'fail', retry: { maxAttempts: 1 } };
  await client.submit({ tasks: ['x', 'y'].map((name) => ({ ...task, id: name })) });
  const quarantined = await client.waitForEvent(({ event }) => event === 'node.quarantined');
  expect(JSON.parse(quarantined.data)).toMatchObject({ node: worker.id });
  await expectCleanEnd(fixture);
});
