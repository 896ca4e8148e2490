/** Handlers that are killed, with their worker, their leader or everything, and go on where they were. */
import postgres from 'postgres';
import { expect, onTestFinished, test } from 'vitest';
import type { Effect } from '../rig/cluster/effects-log.ts';
import { OPTIONS, submit, startWaiting, expectAllGoOn } from './durability-setup.ts';
import { stderrLine } from '../rig/cluster/command.ts';
import { eventsOf, expectCleanEnd, startTestCluster } from '../rig/cluster/test-cluster.ts';

const pidOf = ([effect]: readonly Effect[]): number | undefined => effect?.pid;

test('a worker is killed while its tasks sleep, listen, call and map: another one goes on with them', async () => {
  const fixture = await startTestCluster({ ...OPTIONS, workers: 1 });
  const { cluster } = fixture;
  const waiting = await startWaiting(cluster, 3_000);
  await cluster.node('w-1').process.crash();
  // Until then a task that is woken may still be given to it.
  await stderrLine(cluster.node('n-1').process, /Worker w-1 is dead/);
  // Only now: whatever was begun was begun by the first. The nap goes on meanwhile.
  await cluster.startWorker();
  await expectAllGoOn(cluster, waiting);
  const before = pidOf(cluster.effects.all({ job: waiting.sleeping, name: 'before' }));
  const after = pidOf(cluster.effects.all({ job: waiting.sleeping, name: 'after' }));
  expect(before).not.toBe(after);
  // Waiting costs no attempt, and who waits is not lost with a worker.
  for (const job of [waiting.sleeping, waiting.listening]) {
    expect(await cluster.client.job(job)).toMatchObject({ tasks: [{ attempt: 1 }] });
    expect((await eventsOf(cluster, job)).map(({ kind }) => kind)).not.toContain('reassigned');
  }
  await expectCleanEnd(fixture);
});

test('everything is killed while tasks wait, and goes on when it is started again', async () => {
  const fixture = await startTestCluster({ ...OPTIONS, workers: 1 });
  const { cluster } = fixture;
  const waiting = await startWaiting(cluster, 500);
  const [node, worker] = [cluster.node('n-1'), cluster.node('w-1')];
  await Promise.all([node.process.crash(), worker.process.crash()]);
  await Promise.all([node.start(), worker.start()]);
  await expectAllGoOn(cluster, waiting);
  await expectCleanEnd(fixture);
});

test('a worker is killed after its handler has committed: the next attempt finds that, and pays nothing', async () => {
  const fixture = await startTestCluster({ ...OPTIONS, workers: 1 });
  const { cluster, database } = fixture;
  const sql = postgres(database, { max: 1 });
  onTestFinished(() => sql.end());
  await sql`create table paid (job text, attempt integer)`;
  const job = await submit(cluster, 'paying', { database, file: cluster.file('never') });
  await cluster.effects.wait({ job, name: 'paid' });
  await cluster.startWorker();
  await cluster.node('w-1').process.crash();
  expect(await cluster.client.waitForJob(job)).toMatchObject({
    state: 'succeeded',
    tasks: [{ node: 'w-2', attempt: 2, result: { paidBy: 1 } }],
  });
  expect([...(await sql`select attempt from paid where job = ${job}`)]).toEqual([{ attempt: 1 }]);
  await expectCleanEnd(fixture);
});
