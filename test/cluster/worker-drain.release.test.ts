import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { busyWorker, DONE } from './worker-drain-setup.ts';
import { eventsOf, expectCleanEnd } from '../rig/cluster/test-cluster.ts';
import { millrace } from '../rig/cluster/command.ts';

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
