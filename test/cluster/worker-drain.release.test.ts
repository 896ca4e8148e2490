import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { eventsOf, expectCleanEnd, startTestCluster } from '../rig/cluster/test-cluster.ts';
import type { TestCluster } from '../rig/cluster/test-cluster.ts';
import { millrace } from '../rig/cluster/command.ts';
import type { ClusterNode } from '../rig/cluster/cluster-node.ts';

interface Busy extends TestCluster {
  readonly worker: ClusterNode;
  /** Its task ends when this file is there. */
  readonly file: string;
  readonly running: string;
  /** Given to the same worker, which has not started it. */
  readonly held: string;
}

/** One worker that runs a task and holds another one; a second worker has come since. */
async function busyWorker(...args: string[]): Promise<Busy> {
  const fixture = await startTestCluster({ workers: 0, settings: { sessionTtlMs: 2_500 } });
  const { cluster } = fixture;
  const worker = await cluster.startWorker({ slots: 1, args: ['--prefetch', '1', ...args] });
  const file = cluster.file('go');
  const running = await cluster.client.submit({
    tasks: [{ id: 'a', executor: 'waitForFile', input: { file } }],
  });
  await cluster.effects.wait({ job: running.id, what: 'begin' });
  const held = await cluster.client.submit({ tasks: [{ id: 'b', executor: 'note' }] });
  await cluster.client.waitForEvent(({ event }) => event === 'assigned', { job: held.id });
  await cluster.startWorker({ slots: 1 });
  return { ...fixture, worker, file, running: running.id, held: held.id };
}

const DONE = { code: 0, signal: null };

test('SIGTERM lets a worker finish what runs and give back what does not, uncounted; it exits 0', async () => {
  const busy = await busyWorker();
  const { cluster, worker, running, held } = busy;
  worker.process.kill('SIGTERM');
  const given = await cluster.client.waitForJob(held);
  expect(given).toMatchObject({ state: 'succeeded', tasks: [{ node: 'w-2' }] });
  const kinds = (await eventsOf(cluster, held)).map(({ kind }) => kind);
  expect(kinds).toContain('released');
  for (const counted of ['reassigned', 'retried']) expect(kinds).not.toContain(counted);
  expect(worker.isRunning).toBe(true);
  writeFileSync(busy.file, '');
  const job = await cluster.client.waitForJob(running);
  expect(job).toMatchObject({ state: 'succeeded', tasks: [{ node: 'w-1', attempt: 1 }] });
  expect(await worker.process.exited).toEqual(DONE);
  expect((await cluster.client.nodes()).map(({ id }) => id)).not.toContain('w-1');
  await expectCleanEnd(busy);
});

test('`millrace drain` empties a node, which then ends', async () => {
  const busy = await busyWorker();
  const { cluster, worker, held, running } = busy;
  const server = cluster.urls[0] ?? '';
  const drained = await millrace(['drain', 'w-1', '--server', server]);
  expect(drained).toMatchObject({ code: 0, err: '' });
  expect(drained.out).toMatch(/w-1 is draining/);
  expect(await cluster.client.waitForJob(held)).toMatchObject({ tasks: [{ node: 'w-2' }] });
  const shown = await millrace(['nodes', '--server', server]);
  expect(shown.out).toMatch(/w-1 .*draining/);
  writeFileSync(busy.file, '');
  expect(await cluster.client.waitForJob(running)).toMatchObject({ tasks: [{ node: 'w-1' }] });
  expect(await worker.process.exited).toEqual(DONE);
  const unknown = await millrace(['drain', 'nobody', '--server', server]);
  expect(unknown.code).not.toBe(0);
  expect(unknown.err).toMatch(/nobody/);
  await expectCleanEnd(busy);
});

test('what does not end before the drain deadline is given back without counting an attempt', async () => {
  const busy = await busyWorker('--drain-ms', '300');
  const { cluster, worker, running } = busy;
  worker.process.kill('SIGTERM');
  await cluster.effects.wait({ job: running, what: 'aborted' });
  expect(await worker.process.exited).toEqual(DONE);
  const [, second] = await cluster.effects.wait({ job: running, what: 'begin' }, 2);
  writeFileSync(busy.file, '');
  const job = await cluster.client.waitForJob(running);
  expect(job).toMatchObject({ state: 'succeeded', tasks: [{ node: 'w-2' }] });
  const kinds = (await eventsOf(cluster, running)).map(({ kind }) => kind);
  expect(kinds).toContain('released');
  for (const counted of ['reassigned', 'retried', 'failed']) expect(kinds).not.toContain(counted);
  expect(second?.attempt).toBe(job.tasks[0]?.attempt);
  await expectCleanEnd(busy);
});

test('a second signal ends a worker at once, and its task runs elsewhere', async () => {
  const busy = await busyWorker();
  const { cluster, worker, running, held } = busy;
  worker.process.kill('SIGTERM');
  // What it gave back shows that the first signal was heard.
  await cluster.client.waitForJob(held);
  worker.process.kill('SIGTERM');
  expect(await worker.process.exited).toEqual({ code: 130, signal: null });
  await cluster.effects.wait({ job: running, what: 'begin' }, 2);
  writeFileSync(busy.file, '');
  expect(await cluster.client.waitForJob(running)).toMatchObject({ tasks: [{ node: 'w-2' }] });
  await expectCleanEnd(busy);
});
