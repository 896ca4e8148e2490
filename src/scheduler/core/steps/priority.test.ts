import { describe, expect, test } from 'vitest';
import { Harness, echo } from '../../../../test/rig/harness.ts';
import type { JobId, Priority, ReplyBody } from '../index.ts';

const set = (world: Harness, job: string, priority: Priority): ReplyBody =>
  world.ask({ type: 'setPriority', jobId: job as JobId, priority });

describe('a job that becomes more urgent', () => {
  test('overtakes: its ready tasks move, and those that get ready later come first as well', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'first', tasks: [echo('a'), echo('b')] });
    world.submit({
      name: 'late',
      tasks: [echo('c', { priority: 3 }), echo('d', { dependsOn: ['c'] })],
    });
    expect(set(world, 'late', 0)).toMatchObject({ type: 'job', changed: true });
    const [c] = node.poll(1);
    expect(c?.taskId).toBe('c');
    node.complete(c!);
    expect(node.poll(1).map(({ taskId }) => taskId)).toEqual(['d']);
  });

  test('is so after a change of the leader, and when it runs again', () => {
    const world = new Harness();
    world.node('w1');
    world.submit({ name: 'first', tasks: [echo('a')] });
    world.submit({ name: 'late', tasks: [echo('b', { retry: { maxAttempts: 1 } })] });
    set(world, 'late', 0);
    world.restart();
    const node = world.node('w2');
    const [b] = node.poll(1);
    expect(b?.taskId).toBe('b');
    node.fail(b!);
    world.rerun('late');
    expect(node.poll(1).map(({ taskId }) => taskId)).toEqual(['b']);
  });

  test('leaves running tasks alone; less urgent ones wait for the others', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'one', tasks: [echo('a'), echo('b')] });
    const [a] = node.poll(1);
    world.submit({ name: 'two', tasks: [echo('c')] });
    set(world, 'one', 3);
    expect(node.complete(a!)).toBe('ok');
    expect(node.poll(1).map(({ taskId }) => taskId)).toEqual(['c']);
    expect(node.poll(1).map(({ taskId }) => taskId)).toEqual(['b']);
  });

  test('moves what is parked at a full limit or by the limit of its job', () => {
    const world = new Harness();
    const node = world.node('w1');
    const limited = { concurrency: { key: 'db', limit: 1 } };
    world.submit({ name: 'one', tasks: [echo('a', limited), echo('b', limited)] });
    world.submit({
      name: 'two',
      maxParallel: 1,
      tasks: [echo('c', limited), echo('d'), echo('e')],
    });
    const held = node.poll(9);
    expect(held.map(({ taskId }) => taskId).toSorted()).toEqual(['a', 'd']);
    set(world, 'two', 0);
    for (const task of held) node.complete(task);
    const next = node.poll(9);
    // One of its tasks at a time, and the key is free for it.
    expect(next.map(({ jobId }) => jobId)).toEqual(['two', 'one']);
    for (const task of next) node.complete(task);
    expect(node.poll(9).map(({ jobId }) => jobId)).toEqual(['two']);
  });
});

test('the change is in the log; the same one again, and one of an ended job, change nothing', () => {
  const world = new Harness();
  const node = world.node('w1');
  world.submit({ name: 'job', tasks: [echo('a')] });
  expect(set(world, 'job', 1)).toMatchObject({ changed: true });
  expect(set(world, 'job', 1)).toMatchObject({ changed: false });
  expect(world.log().filter(({ kind }) => kind === 'job.prioritized')).toMatchObject([
    { detail: '{"priority":1,"before":2}' },
  ]);
  expect(JSON.parse(world.job('job')?.options ?? '{}')).toEqual({ priority: 1 });
  expect(world.job('job')?.priority).toBe(2);
  node.complete(node.poll(1)[0]!);
  expect(set(world, 'job', 0)).toMatchObject({ type: 'refused', error: { code: 'not_found' } });
});

test('a job that is being cancelled keeps its priority', () => {
  const world = new Harness();
  const node = world.node('w1');
  world.submit({ name: 'job', tasks: [echo('a')] });
  node.poll(1);
  world.cancel('job');
  expect(set(world, 'job', 0)).toMatchObject({ changed: false });
});

test('a query that waits for admission comes before others', () => {
  const world = new Harness({ settings: { maxQueries: 1 } });
  const node = world.node('w1');
  const gated = (name: string): void => {
    const own = { gate: { admission: { memoryBytes: 1 } } };
    world.submit({ name, tasks: [echo('gate'), echo('a', { dependsOn: ['gate'] })] }, { own });
  };
  gated('one');
  gated('two');
  gated('three');
  set(world, 'three', 0);
  const order: string[] = [];
  for (let [task] = node.poll(1); task !== undefined; [task] = node.poll(1)) {
    order.push(task.jobId);
    node.complete(task);
  }
  expect(order).toEqual(['one', 'three', 'two']);
});
