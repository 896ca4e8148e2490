/** Jobs that tasks submit and that events start, while workers and leaders are killed. */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { connect } from '../../src/client/millrace.ts';
import { expectCleanEnd, startTestCluster } from '../rig/cluster/test-cluster.ts';

/** As it is compiled: nodes run what is compiled, too. */
const DURABLE_HANDLERS: string = fileURLToPath(
  new URL('../../dist/rig/cluster/modules/durable-handlers.js', import.meta.url),
);
const OPTIONS = { modules: [DURABLE_HANDLERS], slots: 4, leaders: 2, workers: 1 };

test('a worker and a leader are killed after a task has submitted jobs: each is there once', async () => {
  const fixture = await startTestCluster(OPTIONS);
  const { cluster } = fixture;
  const file = cluster.file('go');
  const { id } = await cluster.client.submit({
    tasks: [{ id: 'a', executor: 'submitting', input: { file } }],
  });
  await cluster.effects.wait({ job: id, name: 'submitted' });
  await cluster.startWorker();
  await cluster.node('w-1').process.crash();
  await cluster.effects.wait({ job: id, name: 'submitted' }, 2);
  await cluster.node('n-1').process.crash();
  writeFileSync(file, '');
  const { state, tasks } = await cluster.client.waitForJob(id);
  expect(state).toBe('succeeded');
  const result = tasks[0]?.result as { readonly value: readonly string[] } | undefined;
  const ids = result?.value ?? [];
  expect(ids).toHaveLength(2);
  for (const each of ids) {
    expect(await cluster.client.waitForJob(each)).toMatchObject({
      name: 'later',
      state: 'succeeded',
    });
  }
  const done = cluster.effects.all({ what: 'effect', name: 'part' }).map(({ job }) => job);
  expect([...new Set(done)].toSorted()).toEqual([...ids].toSorted());
  const [{ count } = { count: -1 }] = await fixture.sql<{ count: number }[]>`
    select count(*)::integer as count from millrace.job where name = 'later'`;
  expect(count).toBe(2);
  await expectCleanEnd(fixture);
});

test('an event that is sent again after its leader was killed starts nothing twice', async () => {
  const fixture = await startTestCluster(OPTIONS);
  const { cluster } = fixture;
  const client = connect(cluster.urls.join(','));
  onTestFinished(() => client.close());
  const [first] = await client.send('tick', null, { id: 'e-1' });
  expect(first).toMatchObject({ flow: 'on-tick', isNew: true });
  await cluster.node('n-1').process.crash();
  const [second] = await client.send('tick', null, { id: 'e-1' });
  expect(second).toMatchObject({ flow: 'on-tick', id: first?.id, isNew: false });
  expect(await client.ended(first?.id ?? '')).toMatchObject({
    state: 'succeeded',
    startedBy: { event: 'tick', id: 'e-1' },
  });
  const sent = await Promise.all(
    Array.from({ length: 5 }, () => client.send('tick', null, { id: 'e-2' })),
  );
  const ids = new Set(sent.flatMap((jobs) => jobs.map(({ id }) => id)));
  expect(ids.size).toBe(1);
  for (const id of ids) expect(await client.ended(id ?? '')).toMatchObject({ state: 'succeeded' });
  await expectCleanEnd(fixture);
});
