import { copyFileSync, rmSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { scratch } from '../sql/scratch.ts';
import {
  QueryCluster,
  SLOW,
  damage,
  enginesOf,
  enginesRest,
  isLinux,
  isOf,
  letGo,
  recomputed,
  refusedWith,
} from '../rig/cluster/query-cluster.ts';
import { eventsOf } from '../rig/cluster/test-cluster.ts';
import { until } from '../rig/until.ts';

const here = scratch();

describe.runIf(isLinux)('queries', () => {
  test('go on under the next leader, and what was done is not done again', async () => {
    const fixture = await QueryCluster.start(here, {
      leaders: 2,
      settings: { sessionTtlMs: 30_000, nodeDeadMs: 40_000 },
    });
    const { cluster } = fixture;
    const id = await fixture.submit(SLOW);
    await fixture.held(id);
    const leader = await cluster.leading();
    await leader.process.crash();
    await until(async () => (await cluster.leading()).id !== leader.id, 'nobody else leads');
    letGo(...cluster.workers);
    expect(recomputed(await fixture.expectRight(id, SLOW))).toBe(0);
    for (const task of (await fixture.tasks(id)).values())
      expect(task).toMatchObject({ run: 1, attempt: 1 });
    await fixture.end();
  });
});

/** So short that a test can wait for it. */
const SHORT_TTL = { sessionTtlMs: 2_500, nodeDeadMs: 3_500 };
/** More than goes with the answer of a task. */
const LARGE = 'SELECT l_orderkey, l_comment, hash(l_comment, l_orderkey) AS h FROM lineitem';
/** Longer than anybody waits; after a stage that leaves something. */
const ENDLESS = SLOW.replace('t(r)', 't(r), range(1000000) u(v)');

/** What the worker has made of the query so far. */
async function madeBy(fixture: QueryCluster, id: string, node: string): Promise<readonly string[]> {
  const tasks = [...(await fixture.tasks(id)).values()];
  return tasks.flatMap((task) => (task.node === node && task.state === 'succeeded' ? task.id : []));
}

async function runAgain(fixture: QueryCluster, id: string): Promise<readonly string[]> {
  return [...(await fixture.tasks(id)).values()].flatMap(({ id: task, run }) =>
    run > 1 ? task : [],
  );
}

async function killedWorker(fixture: QueryCluster): Promise<void> {
  const [one, two] = [fixture.worker(1), fixture.worker(2)];
  const id = await fixture.submit(SLOW);
  await fixture.held(id);
  const lost = await madeBy(fixture, id, one.id);
  expect(lost.length).toBeGreaterThan(0);
  await one.process.crash();
  letGo(two);
  await fixture.expectRight(id, SLOW);
  expect((await runAgain(fixture, id)).toSorted()).toEqual(lost.toSorted());
  // What it left is swept by the next one.
  expect(await fixture.leftovers(one)).not.toEqual([]);
  await one.start();
  expect(await fixture.leftovers(one)).toEqual([]);
}

async function killedEngine(fixture: QueryCluster): Promise<void> {
  const [one, two] = [fixture.worker(1), fixture.worker(2)];
  const { pid } = one.process;
  const id = await fixture.submit(SLOW);
  await fixture.held(id);
  for (const engine of enginesOf(one)) process.kill(engine, 'SIGKILL');
  letGo(two);
  const retried = await fixture.event(id, ({ kind }) => kind === 'retried');
  expect(retried).toMatchObject({ node: one.id, detail: { code: 'engine_crashed' } });
  const seen = await fixture.expectRight(id, SLOW);
  expect(recomputed(seen)).toBe(0);
  expect(seen.stages[1]?.fetchedBytes).toBeGreaterThan(0);
  const again = [...(await fixture.tasks(id)).values()].filter(({ attempt }) => attempt > 1);
  expect(again).toMatchObject([{ id: retried.task, attempt: 2 }]);
  expect(one.process).toMatchObject({ pid, isRunning: true });
}

/** On one worker the segments are damaged, on the other one they are gone. */
async function damagedOutputs(fixture: QueryCluster): Promise<void> {
  const [one, two] = [fixture.worker(1), fixture.worker(2)];
  const id = await fixture.submit(SLOW);
  await fixture.held(id);
  for (const folder of await fixture.outputs(one, id)) await damage(folder);
  for (const folder of await fixture.outputs(two, id)) rmSync(folder, { recursive: true });
  letGo(one, two);
  expect(recomputed(await fixture.expectRight(id, SLOW))).toBeGreaterThanOrEqual(4);
}

async function changedTable(fixture: QueryCluster): Promise<void> {
  const { cluster } = fixture;
  const [table, gate] = [cluster.file('orders.parquet'), cluster.file('gate')];
  const source = (name: 'orders' | 'customer'): string =>
    (here.tables.specs[name] as string).replace('*', '000');
  copyFileSync(source('orders'), table);
  const busy = await cluster.client.submit({
    tasks: ['a', 'b'].map((id) => ({ id, executor: 'waitForFile', input: { file: gate } })),
  });
  await cluster.effects.wait({ job: busy.id, what: 'begin' }, 2);
  const id = await fixture.submit(SLOW, {}, { orders: table });
  copyFileSync(source('customer'), table);
  writeFileSync(gate, '');
  expect(await fixture.ended(id)).toMatchObject({
    state: 'failed',
    error: { code: 'table_changed' },
  });
}

/** Rows that lie on a worker are lost with it; few of them lie in the store. */
async function lostResult(fixture: QueryCluster): Promise<void> {
  const large = await fixture.submit(LARGE);
  const small = await fixture.submit('SELECT count(*) AS n FROM lineitem');
  await fixture.expectRight(large, LARGE, {});
  await fixture.ended(small);
  await Promise.all(fixture.cluster.workers.map(({ process }) => process.crash()));
  // As long as its disk is visible here the server reads them there.
  await fixture.expectRight(large, LARGE, {});
  for (const { id } of fixture.cluster.workers)
    rmSync(fixture.cluster.file(id), { recursive: true });
  expect(await refusedWith(fixture.rows(large))).toBe('result_lost');
  expect((await fixture.rows(small)).rows).toHaveLength(1);
}

describe.runIf(isLinux)('queries', () => {
  test('survive killed workers, killed engines and damaged files, or fail with the reason', async () => {
    const fixture = await QueryCluster.start(here);
    const cancelled = await fixture.submit(ENDLESS);
    await fixture.event(cancelled, (each) => isOf(each, 's1') && each.kind === 'started');
    await fixture.cancel(cancelled);
    expect(await fixture.ended(cancelled)).toMatchObject({ state: 'cancelled' });
    await Promise.all(fixture.cluster.workers.map(enginesRest));
    await killedEngine(fixture);
    await damagedOutputs(fixture);
    const isGone = async (): Promise<boolean> =>
      (
        await Promise.all(fixture.cluster.workers.map((each) => fixture.outputs(each, cancelled)))
      ).every((folders) => folders.length === 0);
    // A worker asks every ten seconds.
    await until(isGone, 'what the cancelled query has made is still there', 45_000);
    await killedWorker(fixture);
    await changedTable(fixture);
    await lostResult(fixture);
    await fixture.end();
  });

  test('ignore a worker that was paused beyond its TTL', async () => {
    const fixture = await QueryCluster.start(here, { settings: SHORT_TTL, args: [] });
    const [one, two] = [fixture.worker(1), fixture.worker(2)];
    const id = await fixture.submit(SLOW);
    await fixture.held(id);
    const lost = await madeBy(fixture, id, one.id);
    one.process.pause();
    await fixture.event(id, ({ kind, node }) => kind === 'reassigned' && node === one.id);
    // It comes back while the query still runs, with engines that end what they had begun.
    one.process.resume();
    const isBack = async (): Promise<boolean> =>
      (await fixture.cluster.client.nodes()).some(
        ({ id: node, status }) => node === one.id && status === 'healthy',
      );
    await until(isBack, 'it does not come back');
    letGo(two);
    const { stages } = await fixture.expectRight(id, SLOW);
    expect(stages.map(({ fetchedBytes }) => fetchedBytes)).toEqual([0, 0, 0, 0]);
    expect((await runAgain(fixture, id)).toSorted()).toEqual(lost.toSorted());
    const ends = (await eventsOf(fixture.cluster, id)).filter(({ kind }) => kind === 'completed');
    // Once for each run of each task: nothing was taken from the session that was over.
    const tasks = [...(await fixture.tasks(id)).values()];
    expect(ends).toHaveLength(1 + tasks.reduce((sum, { run }) => sum + run, 0));
    await fixture.end();
  });
});
