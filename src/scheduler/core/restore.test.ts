import { describe, expect, test } from 'vitest';
import { Harness, echo, echoes } from '../../../test/rig/harness.ts';
import { Effects, restoreJob } from './index.ts';

/** What is in the rows and must not change by loading it. */
function durable(world: Harness): unknown {
  const { jobs, keys, nodes, schedules, lastSeq } = world.rows;
  return structuredClone({
    jobs: [...jobs.values()].map(({ row, tasks }) => [row, tasks.map((task) => task.row)]),
    keys: [...keys.values()],
    nodes: [...nodes.values()],
    schedules: [...schedules.values()],
    lastSeq,
  });
}

/** A world with a task in every state, and a bit of everything else. */
function variety(): Harness {
  const world = new Harness();
  const node = world.node('w1', { executors: ['echo', 'sql'] });
  const keyed = { idempotencyKey: 'k' };
  world.submit({
    name: 'job',
    maxParallel: 50,
    timeouts: { totalMs: 3_600_000 },
    tasks: [
      echo('succeeded'),
      echo('failed'),
      echo('skipped', { dependsOn: ['failed'] }),
      echo('delayed'),
      echo('sleeping'),
      echo('parent'),
      echo('running', { timeouts: { runMs: 1_000, totalMs: 5_000 } }),
      echo('stopping', { timeouts: { runMs: 1 } }),
      echo('blocked', { dependsOn: ['running', { id: 'delayed', required: false }] }),
      echo('owner', keyed),
      echo('waiter', keyed),
      echo('limited', { concurrency: { key: 'db', limit: 1 } }),
      echo('ready', { placement: { capabilities: { gpu: true } }, timeouts: { queueMs: 9_000 } }),
    ],
  });
  const tasks = new Map(node.poll(99).map((task) => [task.taskId as string, task]));
  const of = (id: string): { lease: never } => tasks.get(id) as unknown as { lease: never };
  node.complete(of('succeeded'), { deep: [1, 2] });
  node.fail(of('failed'), { failure: 'fatal' });
  node.fail(of('delayed'));
  node.sleep(of('sleeping'), 60_000);
  node.start(of('running'));
  node.progress(of('running'), 0.5);
  node.start(of('stopping'));
  world.advance(1);
  node.spawn(of('parent'), echoes(2, { executor: 'sql' }));
  world.schedule('s', { timing: { everyMs: 60_000 }, document: { tasks: [echo('a')] } });
  world.node('w2');
  world.drain('w2');
  world.node('w3').die();
  return world;
}

test('the world has a task in every state that a live job can have', () => {
  expect(new Set(Object.values(variety().states('job')))).toEqual(
    new Set(['blocked', 'ready', 'delayed', 'running', 'succeeded', 'failed', 'skipped']),
  );
});

test('loading changes no row', () => {
  const world = variety();
  const before = durable(world);
  world.restart();
  expect(durable(world)).toEqual(before);
});

test('everything goes on to its end after a restart', () => {
  const world = variety();
  world.restart();
  const node = world.node('w9', { executors: ['echo', 'sql'], capabilities: { gpu: true } });
  for (let round = 0; round < 40; round += 1) {
    // Each restart gives every session a full TTL, also those that are silent.
    if (round % 4 === 0) world.restart();
    for (const task of node.poll(99)) node.complete(task);
    world.advance(10_000);
    node.beat();
  }
  expect(world.job('job').state).toBe('failed');
  expect(world.states('job')).toMatchObject({
    waiter: 'succeeded',
    parent: 'succeeded',
    stopping: 'succeeded',
    running: 'failed', // its total timeout
    blocked: 'skipped',
  });
});

test('leases survive, and every lease counts as not yet received', () => {
  const world = new Harness();
  const node = world.node('w1');
  world.submit({ name: 'job', tasks: [echo('a')] });
  const [a] = node.poll(1);
  node.poll(1); // acknowledges
  world.restart();
  node.held.clear();
  const again = node.poll(1);
  expect(again.map(({ lease }) => lease)).toEqual([a!.lease]);
});

test('fences go on from where they were, under the new term', () => {
  const world = new Harness();
  const node = world.node('w1');
  world.submit({ name: 'job', tasks: [echo('a')] });
  node.release(node.poll()[0]!);
  world.restart();
  expect(node.poll()[0]?.lease).toMatchObject({ fence: 2, term: 'term-2' });
});

describe('a session that did not survive', () => {
  test('has lost its leases', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a')] });
    node.poll();
    world.rows.nodes.clear();
    world.restart();
    expect(world.task('job', 'a')).toMatchObject({ state: 'ready', losses: 1, sessionId: null });
    expect(world.history('job', 'a').at(-2)).toBe('reassigned');
  });

  test('may have been the one loss too many', () => {
    const world = new Harness({ settings: { maxLosses: 1 } });
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a'), echo('b', { dependsOn: ['a'] })] });
    node.poll();
    node.restartProcess();
    node.poll();
    world.rows.nodes.clear();
    world.restart();
    expect(world.task('job', 'a')).toMatchObject({ state: 'failed', error: { code: 'dead' } });
    expect(world.states('job')['b']).toBe('skipped');
    expect(world.job('job').state).toBe('failed');
  });
});

test('a job that is in memory already is left alone', () => {
  const world = new Harness();
  const node = world.node('w1');
  world.submit({ name: 'job', tasks: [echo('a')] });
  const image = world.rows.liveImages()[0]!;
  const [a] = node.poll();
  const effects = new Effects();
  restoreJob(world.state, image, world.now, effects);
  expect(effects.isEmpty).toBe(true);
  expect(node.complete(a!)).toBe('ok');
});

test('a job that left the memory while its image was read is left alone, too', () => {
  const world = new Harness();
  const node = world.node('w1');
  world.submit({ name: 'job', tasks: [echo('a')] });
  world.state.leftWhileReading = new Set();
  const image = world.rows.liveImages()[0]!;
  node.complete(node.poll()[0]!);
  restoreJob(world.state, image, world.now, new Effects());
  expect(world.state.jobs.size).toBe(0);
});

test('a hundred thousand tasks are restored', () => {
  const world = new Harness({ checks: false });
  const node = world.node('w1', { slots: 100_000 });
  world.submit({ name: 'job', tasks: echoes(100_000) });
  node.poll(1_000);
  world.restart();
  world.check();
  expect(world.state.queue.size).toBe(99_000);
});
