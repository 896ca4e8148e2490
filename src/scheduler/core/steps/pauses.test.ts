import { describe, expect, test } from 'vitest';
import { Harness, echo } from '../../../../test/rig/harness.ts';
import type { ReplyBody } from '../index.ts';
import { QueueCounter } from '../index.ts';
import { PAUSES_MAX } from '../queue/pause.ts';
import type { PauseTarget } from '../queue/pause.ts';

const ECHO: PauseTarget = { kind: 'executor', name: 'echo' };
const DB: PauseTarget = { kind: 'key', name: 'db' };
const onDb = { limits: [{ key: 'db', max: 9 }] };
const rateOfDb = { limits: [{ key: 'db', max: 9, perMs: 1_000 }] };

function pause(world: Harness, target: PauseTarget, reason: string | null = null): ReplyBody {
  return world.ask({ type: 'pauseQueue', target, reason });
}

function resume(world: Harness, target: PauseTarget): ReplyBody {
  return world.ask({ type: 'resumeQueue', target });
}

describe.each([
  { name: 'an executor', target: ECHO, options: {} },
  { name: 'the key of a concurrency limit', target: DB, options: onDb },
  { name: 'the key of a rate', target: DB, options: rateOfDb },
])('pausing $name', ({ target, options }) => {
  test('starts no more of its tasks until it is resumed, and none is lost', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'before', tasks: [echo('a', options), echo('b', options)] });
    pause(world, target);
    world.submit({ name: 'after', tasks: [echo('c', options)] });
    expect(node.poll(9)).toEqual([]);
    resume(world, target);
    expect(
      node
        .poll(9)
        .map(({ taskId }) => taskId)
        .toSorted(),
    ).toEqual(['a', 'b', 'c']);
  });

  test('lets what runs go on, and holds its retries', () => {
    const world = new Harness();
    const node = world.node('w1');
    const retry = { maxAttempts: 2, backoffMs: 1 };
    world.submit({ name: 'job', tasks: [echo('a', { ...options, retry }), echo('b', options)] });
    const [a, b] = node.poll(9);
    pause(world, target);
    expect(node.complete(b!)).toBe('ok');
    node.fail(a!);
    world.advance(10_000);
    node.beat();
    expect(node.poll(9)).toEqual([]);
    expect(world.explain('job', 'a')?.code).toBe('paused');
    resume(world, target);
    expect(node.poll(9).map(({ attempt }) => attempt)).toEqual([2]);
  });

  test('holds after a change of the leader, and so does its end', () => {
    const world = new Harness();
    world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a', options)] });
    pause(world, target, 'upgrade');
    world.restart();
    const node = world.node('w2');
    expect(node.poll(9)).toEqual([]);
    expect(world.explain('job', 'a')?.why).toMatch(/has been paused since .*: upgrade$/);
    resume(world, target);
    world.restart();
    expect(world.node('w3').poll(9)).toHaveLength(1);
  });

  test('wakes polls that were waiting when it is resumed', () => {
    const world = new Harness();
    const node = world.node('w1');
    pause(world, target);
    world.submit({ name: 'job', tasks: [echo('a', options)] });
    node.park(1);
    world.assign();
    expect(node.isParked).toBe(true);
    resume(world, target);
    world.assign();
    expect(node.take()).toHaveLength(1);
  });
});

test('a pause of one executor or key does not hold the others', () => {
  const world = new Harness();
  const node = world.node('w1', { executors: ['echo', 'mail'] });
  pause(world, ECHO);
  pause(world, DB);
  const tasks = [echo('a'), { id: 'b', executor: 'mail' }, { id: 'c', executor: 'mail', ...onDb }];
  world.submit({ name: 'job', tasks });
  expect(node.poll(9).map(({ taskId }) => taskId)).toEqual(['b']);
});

test('a task that goes on after a wait is held by the paused key of a rate', () => {
  const world = new Harness();
  const node = world.node('w1');
  world.submit({ name: 'job', tasks: [echo('a', rateOfDb)] });
  node.sleep(node.poll(1)[0]!, 10);
  pause(world, DB);
  world.advance(1_000);
  expect(node.poll(9)).toEqual([]);
  resume(world, DB);
  expect(node.poll(9)).toHaveLength(1);
});

test('pausing twice keeps the first reason, and resuming twice changes nothing', () => {
  const world = new Harness();
  expect(pause(world, ECHO, 'first')).toMatchObject({ changed: true, pause: { reason: 'first' } });
  expect(pause(world, ECHO, 'again')).toMatchObject({ changed: false, pause: { reason: 'first' } });
  expect(resume(world, ECHO)).toMatchObject({ changed: true, pause: null });
  expect(resume(world, ECHO)).toMatchObject({ changed: false, pause: null });
  const log = world.log().filter(({ kind }) => kind.startsWith('queue.'));
  expect(log.map(({ kind, detail }) => [kind, detail])).toEqual([
    ['queue.paused', '{"executor":"echo","reason":"first"}'],
    ['queue.resumed', '{"executor":"echo","reason":"first"}'],
  ]);
});

test('no node is emptied for a paused task that runs alone', () => {
  const world = new Harness();
  world.submit({ name: 'job', tasks: [echo('a')] });
  for (const id of ['w1', 'w2']) {
    const node = world.node(id);
    node.start(node.poll()[0]!);
    node.die();
  }
  pause(world, ECHO);
  const node = world.node('w3', { executors: ['echo', 'mail'] });
  world.submit({
    name: 'others',
    tasks: [
      { id: 'x', executor: 'mail' },
      { id: 'y', executor: 'mail' },
    ],
  });
  expect(node.poll(1)).toHaveLength(1);
  world.advance(1_000);
  expect(node.poll(1)).toHaveLength(1);
  expect(world.explain('job', 'a')?.code).toBe('paused');
});

test('refuses more pauses than an operator could mean, and changes nothing', () => {
  const world = new Harness();
  for (let no = 0; no < PAUSES_MAX; no += 1) pause(world, { kind: 'key', name: `k${no}` });
  expect(pause(world, ECHO)).toMatchObject({ type: 'refused', error: { code: 'conflict' } });
  world.submit({ name: 'job', tasks: [echo('a')] });
  expect(world.node('w1').poll(1)).toHaveLength(1);
});

test('counts what waits and runs, the paused queues first', () => {
  const world = new Harness();
  const node = world.node('w1', { executors: ['echo', 'mail'] });
  world.submit({
    name: 'job',
    tasks: [echo('a', onDb), echo('b', onDb), { id: 'c', executor: 'mail' }],
  });
  node.poll(1);
  pause(world, { kind: 'executor', name: 'mail' });
  const counter = new QueueCounter(world.state);
  while (counter.count(1)) expect(counter.result().length).toBeLessThanOrEqual(3);
  const seen = counter.result().map(({ kind, name, ready, running, pause: held }) => {
    return [kind, name, ready, running, held !== null];
  });
  expect(seen).toEqual([
    ['executor', 'mail', 1, 0, true],
    ['executor', 'echo', 1, 1, false],
    ['key', 'db', 1, 1, false],
  ]);
});

test('shows a thousand queues at most: the paused ones, then those with most ready tasks', () => {
  const world = new Harness();
  const withKey = (id: string, key: string): object => echo(id, { limits: [{ key, max: 9 }] });
  const tasks = Array.from({ length: 1_100 }, (_, at) => withKey(`t${at}`, `k${at}`));
  const more = ['k1050', 'k1050', 'k1060'].map((key, at) => withKey(`more${at}`, key));
  world.submit({ name: 'job', tasks: [...tasks, ...more] as never });
  pause(world, { kind: 'key', name: 'k1090' });
  pause(world, { kind: 'key', name: 'empty' });
  const counter = new QueueCounter(world.state);
  expect(counter.count(10_000)).toBe(false);
  const seen = counter.result();
  expect(seen).toHaveLength(1_000);
  expect(seen.slice(0, 5).map(({ name, ready }) => [name, ready])).toEqual([
    ...[
      ['k1090', 1],
      ['empty', 0],
    ],
    ...[
      ['echo', 1_103],
      ['k1050', 3],
      ['k1060', 2],
    ],
  ]);
  expect(new Set(seen.map(({ name }) => name)).size).toBe(1_000);
});
