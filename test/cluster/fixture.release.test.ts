import { expect, onTestFinished, test } from 'vitest';
import { openPostgresStore } from '../../src/scheduler/store/index.ts';
import { expectCleanAudit } from '../rig/cluster/audit.ts';
import { startCluster } from '../rig/cluster/cluster.ts';
import { freshDatabase } from '../rig/postgres.ts';

test('two nodes and two workers start on an empty database, run a job, and end in order', async () => {
  const database = await freshDatabase();
  onTestFinished(() => database.drop());
  const cluster = await startCluster({ database: database.url, leaders: 2, workers: 2 });
  const { id } = await cluster.client.submit({
    tasks: [
      { id: 'a', executor: 'note', input: { value: 1 } },
      { id: 'b', executor: 'note', dependsOn: ['a'], input: { value: 2 } },
    ],
  });
  const job = await cluster.client.waitForJob(id);
  expect(job.state).toBe('succeeded');
  expect(job.tasks.map(({ node }) => node)).toEqual([
    expect.stringMatching(/^w-/),
    expect.stringMatching(/^w-/),
  ]);
  expect(cluster.effects.all({ job: id }).map(({ what }) => what)).toEqual([
    'begin',
    'end',
    'begin',
    'end',
  ]);
  expect((await cluster.leading()).id).toBe('n-1');
  expect((await cluster.client.nodes()).map((node) => node.id)).toEqual(
    expect.arrayContaining(['w-1', 'w-2']),
  );
  await cluster.stop();
  const store = await openPostgresStore({ url: database.url });
  onTestFinished(() => store.close());
  await expectCleanAudit(store, cluster.client.acknowledged);
});
