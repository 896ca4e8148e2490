import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { busyWorker, DONE } from './worker-drain-setup.ts';
import { eventsOf, expectCleanEnd } from '../rig/cluster/test-cluster.ts';

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
