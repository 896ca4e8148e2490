import { describe, expect, test } from 'vitest';
import { Harness, echo, echoes } from '../../../../test/rig/harness.ts';
import type { ScriptedNode } from '../../../../test/rig/harness/scripted-node.ts';

const key = (name: string, limit: number): object => ({ concurrency: { key: name, limit } });

/** The job ids of the next `count` tasks, each finished before the next is taken. */
function serve(node: ScriptedNode, count: number): string[] {
  const jobs: string[] = [];
  for (let at = 0; at < count; at += 1) {
    const [task] = node.poll();
    if (task === undefined) break;
    jobs.push(task.jobId);
    node.complete(task);
  }
  return jobs;
}

describe('a limit per job', () => {
  test('never has more than its tasks assigned, and goes on when one ends', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', maxParallel: 2, tasks: echoes(5) });
    const [a] = node.poll(10);
    expect(node.held.size).toBe(2);
    node.complete(a!);
    expect(node.poll(10)).toHaveLength(1);
  });

  test('does not keep other jobs from running', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'narrow', maxParallel: 1, tasks: echoes(100) });
    world.submit({ name: 'wide', tasks: echoes(10) });
    const jobs = node.poll(50).map(({ jobId }) => jobId);
    expect(jobs.filter((job) => job === 'wide')).toHaveLength(10);
    expect(jobs.filter((job) => job === 'narrow')).toHaveLength(1);
  });

  test('counts over all kinds of work of the job', () => {
    const world = new Harness();
    const node = world.node('w1', { executors: ['echo', 'sql'] });
    const tasks = [...echoes(3), { id: 'q', executor: 'sql' }, echo('u', { priority: 0 })];
    world.submit({ name: 'job', maxParallel: 2, tasks });
    expect(node.poll(10)).toHaveLength(2);
    for (let left = 5; left > 2; left -= 1) {
      const [first] = node.held.values();
      node.complete(first!);
      expect(node.poll(10)).toHaveLength(1);
    }
  });

  test('survives that a parked task is cancelled and another is added', () => {
    const world = new Harness();
    const node = world.node('w1');
    const quick = { timeouts: { queueMs: 10 } };
    world.submit({ name: 'job', maxParallel: 1, tasks: [echo('a'), echo('b', quick)] });
    const [a] = node.poll(5);
    world.advance(20);
    expect(world.states('job')).toEqual({ a: 'running', b: 'failed' });
    node.spawn(a!, [echo('c'), echo('d')]);
    expect(serve(node, 9)).toHaveLength(3);
    expect(world.job('job').state).toBe('failed');
  });

  test('a task of the job that waits for an absent node takes no place', () => {
    const world = new Harness();
    const node = world.node('w1');
    const tasks = [echo('rare', { placement: { capabilities: { gpu: true } } }), echo('a')];
    world.submit({ name: 'job', maxParallel: 1, tasks });
    expect(node.poll(5).map(({ taskId }) => taskId)).toEqual(['a']);
  });
});

describe('a concurrency key', () => {
  test('limits its tasks over all jobs and nodes', () => {
    const world = new Harness();
    const [w1, w2] = [world.node('w1'), world.node('w2')];
    world.submit({ name: 'one', tasks: echoes(3, key('db', 2)) });
    world.submit({ name: 'two', tasks: echoes(3, key('db', 2)) });
    const first = [...w1.poll(5), ...w2.poll(5)];
    expect(first).toHaveLength(2);
    w1.complete(first[0]!);
    expect([...w1.poll(5), ...w2.poll(5)]).toHaveLength(1);
  });

  test('does not keep tasks without it, or with another one, from running', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'db', tasks: echoes(100, key('db', 1)) });
    world.submit({ name: 'api', tasks: echoes(100, key('api', 3)) });
    world.submit({ name: 'free', tasks: echoes(7) });
    const jobs = node.poll(50).map(({ jobId }) => jobId);
    const count = (name: string): number => jobs.filter((job) => job === name).length;
    expect([count('db'), count('api'), count('free')]).toEqual([1, 3, 7]);
  });

  test('a task that waits for an absent node takes no place of its key', () => {
    const world = new Harness();
    const node = world.node('w1');
    const rare = { placement: { capabilities: { gpu: true } } };
    world.submit({ name: 'rare', tasks: echoes(5, { ...rare, ...key('db', 1) }) });
    world.submit({ name: 'usual', tasks: echoes(5, key('db', 1)) });
    expect(serve(node, 9)).toEqual(Array.from({ length: 5 }, () => 'usual'));
  });

  test('a lone task behind a thousand of another job with the same key does not starve', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'large', tasks: echoes(1_000, key('db', 1)) });
    world.submit({ name: 'small', tasks: echoes(2, key('db', 1)) });
    const jobs = serve(node, 8);
    expect(jobs.filter((job) => job === 'small')).toHaveLength(2);
  });

  test('different kinds of work under the same key take turns', () => {
    const world = new Harness();
    const node = world.node('w1', { executors: ['echo', 'sql'] });
    world.submit({ name: 'large', tasks: echoes(1_000, key('db', 1)) });
    const sql = echoes(3, { ...key('db', 1), executor: 'sql' });
    world.submit({ name: 'small', tasks: sql });
    const jobs: string[] = [];
    for (let at = 0; at < 12; at += 1) {
      // Asking for more than there is makes every lane look for work while the key is full.
      const [task] = node.poll(5);
      jobs.push(task!.jobId);
      node.complete(task!);
    }
    expect(jobs.filter((job) => job === 'small')).toHaveLength(3);
  });

  test('takes the figure of the newest job that names it', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'one', tasks: echoes(10, key('db', 1)) });
    expect(node.poll(9)).toHaveLength(1);
    world.submit({ name: 'two', tasks: echoes(1, key('db', 4)) });
    expect(node.poll(9)).toHaveLength(3);
    world.submit({ name: 'three', tasks: echoes(1, key('db', 2)) });
    const [first, second, third] = node.held.values();
    node.complete(first!);
    node.complete(second!);
    expect(node.poll(9)).toHaveLength(0);
    node.complete(third!);
    expect(node.poll(9)).toHaveLength(1);
  });

  test('keeps the figure of the newest job over a restart, in whatever order jobs come back', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'old', priority: 2, tasks: echoes(10, key('db', 1)) });
    world.submit({ name: 'new', priority: 0, tasks: echoes(10, key('db', 3)) });
    const liveImages = world.rows.liveImages.bind(world.rows);
    world.rows.liveImages = () => liveImages().toReversed();
    world.restart();
    expect(node.poll(9)).toHaveLength(3);
  });

  test('a task that waits for its own job does not block others with the same key', () => {
    const world = new Harness();
    const node = world.node('w1');
    const held = { name: 'held', maxParallel: 1, tasks: [echo('slow'), echo('k', key('db', 1))] };
    world.submit(held);
    node.poll(5);
    world.submit({ name: 'other', tasks: echoes(3, key('db', 1)) });
    expect(serve(node, 9)).toEqual(['other', 'other', 'other']);
  });

  test('a woken task whose job reaches its limit makes room for others with the same key', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'first', tasks: echoes(1, key('db', 1)) });
    const [first] = node.poll(5);
    world.submit({
      name: 'held',
      maxParallel: 1,
      tasks: [echo('k', key('db', 1)), echo('l', key('db', 1)), echo('slow', { priority: 0 })],
    });
    world.submit({ name: 'other', tasks: echoes(2, key('db', 1)) });
    expect(node.poll(5).map(({ taskId }) => taskId)).toEqual(['slow']);
    node.complete(first!);
    const [one] = node.poll(5);
    expect(one?.jobId).toBe('other');
    node.complete(one!);
    const [two] = node.poll(5);
    expect(two?.jobId).toBe('other');
    node.complete(two!);
    const [slow] = node.held.values();
    node.complete(slow!);
    expect(serve(node, 9)).toEqual(['held', 'held']);
  });

  test('gives the place of a cancelled task to the next', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'one', tasks: echoes(2, key('db', 1)) });
    world.submit({ name: 'two', tasks: echoes(2, key('db', 1)) });
    world.cancel('one');
    expect(node.poll(9).map(({ jobId }) => jobId)).toEqual(['two']);
  });
});

describe('a limit per node', () => {
  const single = { placement: { maxParallelPerNode: 1 } };

  test('has no more of the same tasks on one node, and goes on elsewhere', () => {
    const world = new Harness();
    const [w1, w2] = [world.node('w1'), world.node('w2')];
    world.submit({ name: 'job', tasks: echoes(4, single) });
    const [a] = w1.poll(5);
    expect(w1.held.size).toBe(1);
    expect(w2.poll(5)).toHaveLength(1);
    expect(w1.poll(5)).toEqual([]);
    w1.complete(a!);
    expect(w1.poll(5)).toHaveLength(1);
  });

  test('does not keep other tasks from running there', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'single', tasks: echoes(10, single) });
    world.submit({ name: 'free', tasks: echoes(3) });
    const jobs = node.poll(9).map(({ jobId }) => jobId);
    expect(jobs.toSorted()).toEqual(['free', 'free', 'free', 'single']);
  });

  test('counts what a registration anew or a restart finds running', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: echoes(4, single) });
    const [a] = node.poll(5);
    node.register();
    expect(node.poll(5)).toEqual([]);
    world.restart();
    expect(node.poll(5)).toEqual([]);
    node.complete(a!);
    expect(node.poll(5)).toHaveLength(1);
  });
});

test('a node holds no more than its slots, however much it asks for', () => {
  const world = new Harness();
  const node = world.node('w1', { slots: 3 });
  world.submit({ name: 'job', tasks: echoes(9) });
  expect(node.poll(100)).toHaveLength(3);
  expect(node.poll(100)).toEqual([]);
});
