/** Handlers that are killed, with their worker, their leader or everything, and go on where they were. */
import postgres from 'postgres';
import { expect, onTestFinished, test } from 'vitest';
import type { Effect } from '../rig/cluster/effects-log.ts';
import { stderrLine } from '../rig/cluster/command.ts';
import { eventsOf, expectCleanEnd, startTestCluster } from '../rig/cluster/test-cluster.ts';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Cluster } from '../rig/cluster/cluster.ts';

/** As it is compiled: nodes run what is compiled, too. */
const DURABLE_HANDLERS: string = fileURLToPath(
  new URL('../../dist/rig/cluster/modules/durable-handlers.js', import.meta.url),
);

/** Sessions that outlast what happens here: a loss is noticed by the process that is gone. */
const SETTINGS = { sessionTtlMs: 30_000, nodeDeadMs: 40_000 };
const OPTIONS = { modules: [DURABLE_HANDLERS], settings: SETTINGS, slots: 8 };

async function submit(cluster: Cluster, executor: string, input: object): Promise<string> {
  const { id } = await cluster.client.submit({ tasks: [{ id: 'a', executor, input }] });
  return id;
}

async function isSuspended(cluster: Cluster, job: string): Promise<void> {
  await cluster.client.waitForEvent(({ event }) => event === 'suspended', { job });
}

/** The effects of all tasks of the job, and of those it has called, as TASK NAME. */
function effectsOf(cluster: Cluster, job: string): readonly string[] {
  return cluster.effects
    .all({ what: 'effect' })
    .filter((effect) => effect.job === job || effect.job.startsWith(`${job}.`))
    .map(({ task, name }) => `${task} ${name}`);
}

async function expectSucceeded(cluster: Cluster, job: string): Promise<unknown> {
  const { state, tasks } = await cluster.client.waitForJob(job);
  expect({ job, state, error: tasks[0]?.error }).toEqual({ job, state: 'succeeded', error: null });
  const result = tasks.find(({ id }) => id === 'a')?.result as { readonly value: unknown };
  return result.value;
}

/** One job for each way of waiting, and all of them wait. The one that sleeps comes last. */
interface Waiting {
  readonly file: string;
  readonly listening: string;
  readonly calling: string;
  readonly mapping: string;
  readonly sleeping: string;
}

async function startWaiting(cluster: Cluster, sleepMs: number): Promise<Waiting> {
  const file = cluster.file('go');
  const [listening, calling, mapping] = await Promise.all(
    ['listening', 'calling', 'mapping'].map((executor) => submit(cluster, executor, { file })),
  );
  if (listening === undefined || calling === undefined || mapping === undefined) throw new Error();
  await Promise.all([listening, calling, mapping].map((job) => isSuspended(cluster, job)));
  // The called job is at work, and of the map two parts have ended and two are at work.
  await cluster.effects.wait({ name: 'between' });
  await cluster.effects.wait({ name: 'part' }, 4);
  const sleeping = await submit(cluster, 'sleeping', { ms: sleepMs });
  await isSuspended(cluster, sleeping);
  return { file, listening, calling, mapping, sleeping };
}

/** Everything goes on, and every step that was finished was done once. */
async function expectAllGoOn(cluster: Cluster, waiting: Waiting): Promise<void> {
  const { file, listening, calling, mapping, sleeping } = waiting;
  await cluster.client.signal(listening, 'go', { yes: true });
  expect(await expectSucceeded(cluster, listening)).toEqual({ yes: true });
  writeFileSync(file, '');
  expect(await expectSucceeded(cluster, calling)).toMatchObject({ value: 'stood' });
  expect(await expectSucceeded(cluster, mapping)).toEqual([0, 1, 4, 9, 16, 25]);
  await expectSucceeded(cluster, sleeping);
  for (const job of [listening, sleeping]) {
    expect(effectsOf(cluster, job)).toEqual(['a before', 'a after']);
  }
  // Where a handler stands outside of steps it comes by again.
  const called = effectsOf(cluster, calling).filter((each) => each !== 'inner between');
  expect(called).toEqual(['a before', 'inner before', 'inner after', 'a after']);
  expect(effectsOf(cluster, mapping).toSorted()).toEqual([
    'a after',
    'a before',
    ...[0, 1, 2, 3, 4, 5].map((index) => `a.part.${index} part`),
  ]);
}

test('a worker is killed between two steps and inside one: only unfinished steps are repeated', async () => {
  const fixture = await startTestCluster({ ...OPTIONS, workers: 1 });
  const { cluster } = fixture;
  const file = cluster.file('go');
  const between = await submit(cluster, 'between', { file });
  const inside = await submit(cluster, 'inside', { file });
  await cluster.effects.wait({ job: between, name: 'between' });
  await cluster.effects.wait({ job: inside, name: 'inside' });
  await cluster.startWorker();
  await cluster.node('w-1').process.crash();
  await cluster.effects.wait({ job: between, name: 'between' }, 2);
  const twice = await cluster.effects.wait({ job: inside, name: 'inside' }, 2);
  writeFileSync(file, '');
  for (const job of [between, inside]) await expectSucceeded(cluster, job);
  expect(effectsOf(cluster, between)).toEqual(['a before', 'a between', 'a between', 'a after']);
  expect(effectsOf(cluster, inside)).toEqual(['a before', 'a inside', 'a inside', 'a after']);
  expect(new Set(twice.map(({ key }) => key)).size).toBe(1);
  expect(new Set(twice.map(({ pid }) => pid)).size).toBe(2);
  await expectCleanEnd(fixture);
});

test('the leader is killed while tasks sleep, listen, call and map: the next one wakes them', async () => {
  const fixture = await startTestCluster({ ...OPTIONS, leaders: 2, workers: 1 });
  const { cluster } = fixture;
  const waiting = await startWaiting(cluster, 500);
  // Its sleep is over before there is a leader again.
  await cluster.node('n-1').process.crash();
  await expectAllGoOn(cluster, waiting);
  expect((await cluster.leading()).id).toBe('n-2');
  await expectCleanEnd(fixture);
});

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

test('a worker is killed after its handler has committed: the next attempt commits nothing', async () => {
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
