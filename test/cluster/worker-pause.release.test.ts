import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { stderrLine } from '../rig/cluster/command.ts';
import { eventsOf, expectCleanEnd, startTestCluster } from '../rig/cluster/test-cluster.ts';
import { until } from '../rig/until.ts';
import type { TestCluster } from '../rig/cluster/test-cluster.ts';

const SHORT_TTL = { sessionTtlMs: 2_500, nodeDeadMs: 3_500 };

async function statusOf({ cluster }: TestCluster, node: string): Promise<string | undefined> {
  return (await cluster.client.nodes()).find(({ id }) => id === node)?.status;
}

const isStatus = (fixture: TestCluster, node: string, status: string | undefined): Promise<true> =>
  until(async () => (await statusOf(fixture, node)) === status && true, `${node} to be ${status}`);

/** By the log: as a status it may last for a moment only. */
async function isCalled({ cluster }: TestCluster, node: string, kind: string): Promise<void> {
  await cluster.client.waitForEvent(
    ({ event, data }) =>
      event === kind && (JSON.parse(data) as { readonly node: string | null }).node === node,
  );
}

test('a worker that was paused beyond its TTL stops its lost task, and registers again', async () => {
  const fixture = await startTestCluster({
    workers: 1,
    settings: { ...SHORT_TTL, nodeForgetMs: 200 },
  });
  const { cluster } = fixture;
  const file = cluster.file('go');
  const { id } = await cluster.client.submit({
    tasks: [{ id: 'a', executor: 'waitForFile', input: { file } }],
  });
  await cluster.effects.wait({ job: id, what: 'begin', attempt: 1 });
  await cluster.startWorker();
  const sleeper = cluster.node('w-1').process;
  expect(await statusOf(fixture, 'w-1')).toBe('healthy');
  sleeper.pause();
  await isCalled(fixture, 'w-1', 'node.stale');
  await cluster.effects.wait({ job: id, what: 'begin', attempt: 2 });
  await isCalled(fixture, 'w-1', 'node.dead');
  // Forgotten: to the leader this node is unknown, and it registers like any other.
  await isStatus(fixture, 'w-1', undefined);
  sleeper.resume();
  await cluster.effects.wait({ job: id, what: 'aborted', attempt: 1 });
  await isStatus(fixture, 'w-1', 'healthy');
  writeFileSync(file, '');
  const job = await cluster.client.waitForJob(id);
  expect(job).toMatchObject({ state: 'succeeded', tasks: [{ attempt: 2, node: 'w-2' }] });
  expect(cluster.effects.all({ job: id, what: 'end' })).toMatchObject([{ attempt: 2 }]);
  await expectCleanEnd(fixture);
});

test('of five workers exactly one runs a task', async () => {
  const fixture = await startTestCluster({ workers: 5 });
  const { cluster } = fixture;
  for (let round = 0; round < 5; round += 1) {
    const { id } = await cluster.client.submit({ tasks: [{ id: 'a', executor: 'note' }] });
    expect(await cluster.client.waitForJob(id)).toMatchObject({ state: 'succeeded' });
    const kinds = (await eventsOf(cluster, id)).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === 'assigned')).toHaveLength(1);
    expect(cluster.effects.all({ job: id, what: 'begin' })).toHaveLength(1);
  }
  await expectCleanEnd(fixture);
});

test('a handler that blocks its thread for longer than the TTL keeps its lease', async () => {
  const fixture = await startTestCluster({ workers: 2, settings: SHORT_TTL });
  const { cluster } = fixture;
  const { id } = await cluster.client.submit({
    tasks: [{ id: 'a', executor: 'block', input: { ms: 4_000 } }],
  });
  const job = await cluster.client.waitForJob(id);
  expect(job).toMatchObject({ state: 'succeeded', tasks: [{ attempt: 1 }] });
  const kinds = (await eventsOf(cluster, id)).map(({ kind }) => kind);
  expect(kinds).not.toContain('reassigned');
  expect(kinds.filter((kind) => kind === 'completed')).toHaveLength(1);
  expect(cluster.effects.all({ job: id, what: 'begin' })).toHaveLength(1);
  await expectCleanEnd(fixture);
});

test('a handler that ignores its abort ends its process after the grace period, and the task runs elsewhere', async () => {
  const fixture = await startTestCluster({ workers: 0, settings: { backoffMs: 50 } });
  const { cluster } = fixture;
  const module = cluster.file('deaf-once.mjs');
  writeFileSync(
    module,
    `export const deafOnce = { kind: 'millrace.task', name: 'deafOnce',
       run: (_, { attempt }) => (attempt === 1 ? new Promise(() => {}) : 'heard') };`,
  );
  const options = { modules: [module], args: ['--abort-grace-ms', '300'] };
  await Promise.all(['w-1', 'w-2'].map((id) => cluster.startWorker({ ...options, id })));
  const { id } = await cluster.client.submit({
    tasks: [{ id: 'a', executor: 'deafOnce', timeouts: { runMs: 500 } }],
  });
  const job = await cluster.client.waitForJob(id);
  expect(job).toMatchObject({ state: 'succeeded', tasks: [{ attempt: 2, result: 'heard' }] });
  const deaf = (await eventsOf(cluster, id)).find(({ kind }) => kind === 'assigned')?.node ?? '';
  expect(job.tasks[0]?.node).not.toBe(deaf);
  expect(await cluster.node(deaf).process.exited).toMatchObject({ code: 1 });
  await stderrLine(cluster.node(deaf).process, /did not stop within 300 ms of its abort signal/);
  await expectCleanEnd(fixture);
});
