import { describe, expect, test } from 'vitest';
import { Harness, echo, echoes } from '../../../../test/rig/harness.ts';

describe('the queue timeout', () => {
  const queueMs = { timeouts: { queueMs: 100 } };

  test('ends a task that waited too long for a node', () => {
    const world = new Harness();
    world.submit({ name: 'job', tasks: [echo('a', queueMs), echo('b', { dependsOn: ['a'] })] });
    world.advance(99);
    expect(world.states('job')['a']).toBe('ready');
    world.advance(1);
    expect(world.task('job', 'a')).toMatchObject({
      state: 'failed',
      error: { code: 'queue_timeout' },
    });
    expect(world.job('job').state).toBe('failed');
  });

  test('does not count once the task is assigned', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a', queueMs)] });
    const [a] = node.poll();
    world.advance(1_000);
    expect(node.complete(a!)).toBe('ok');
  });

  test('counts anew for each attempt', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a', queueMs)] });
    world.advance(90);
    node.release(node.poll()[0]!);
    world.advance(90);
    expect(world.states('job')).toEqual({ a: 'ready' });
    world.advance(10);
    expect(world.states('job')).toEqual({ a: 'failed' });
  });

  test('goes on counting over a restart', () => {
    const world = new Harness();
    world.submit({ name: 'job', tasks: [echo('a', queueMs)] });
    world.advance(60);
    world.restart();
    world.advance(39);
    expect(world.states('job')).toEqual({ a: 'ready' });
    world.advance(1);
    expect(world.states('job')).toEqual({ a: 'failed' });
  });
});

describe('the run timeout', () => {
  const runMs = { timeouts: { runMs: 100 } };

  test('counts from the start, not from the assignment', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a', runMs)] });
    const [a] = node.poll();
    world.advance(1_000);
    node.beat();
    expect(node.orders.abort).toEqual([]);
    node.start(a!);
    world.advance(99);
    expect(node.beat().abort).toEqual([]);
    world.advance(1);
    expect(node.beat().abort).toEqual([a!.lease]);
    expect(world.task('job', 'a')).toMatchObject({ state: 'running', stopping: 'timeout' });
  });

  test('is a failure that is tried again', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a', runMs)] });
    const [a] = node.poll();
    node.start(a!);
    world.advance(100);
    expect(node.abort(a!)).toBe('ok');
    expect(world.task('job', 'a')).toMatchObject({
      state: 'delayed',
      failures: 1,
      error: { code: 'timeout' },
    });
    world.advance(1_000);
    expect(node.poll()).toHaveLength(1);
  });

  test('loses against a completion that was on its way', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a', runMs)] });
    const [a] = node.poll();
    node.start(a!);
    world.advance(100);
    expect(node.complete(a!, 1)).toBe('ok');
    expect(world.task('job', 'a')).toMatchObject({ state: 'succeeded', result: 1 });
  });

  test('counts as a failure when the node is lost before it confirms', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a', runMs)] });
    node.start(node.poll()[0]!);
    world.advance(100);
    node.die();
    expect(world.task('job', 'a')).toMatchObject({ state: 'delayed', failures: 1, losses: 0 });
  });

  test('of an earlier attempt does not hit the next one', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a', runMs)] });
    const [first] = node.poll();
    node.start(first!);
    world.advance(50);
    node.release(first!);
    const [second] = node.poll();
    node.start(second!);
    world.advance(60);
    expect(node.beat().abort).toEqual([]);
    world.advance(40);
    expect(node.beat().abort).toEqual([second!.lease]);
  });

  test('goes on counting over a restart', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a', runMs)] });
    const [a] = node.poll();
    node.start(a!);
    world.advance(60);
    world.restart();
    world.advance(40);
    expect(node.beat().abort).toEqual([a!.lease]);
  });
});

describe('the total timeout of a task', () => {
  const totalMs = { timeouts: { totalMs: 100 } };

  test.each(['ready', 'delayed', 'blocked'] as const)('ends a %s task', (state) => {
    const world = new Harness();
    const node = world.node('w1');
    const retry = { backoffMs: 1_000 };
    const tasks =
      state === 'blocked'
        ? [echo('slow'), echo('a', { ...totalMs, dependsOn: ['slow'] })]
        : [echo('a', { ...totalMs, retry })];
    world.submit({ name: 'job', tasks });
    if (state === 'delayed') node.fail(node.poll()[0]!);
    expect(world.states('job')['a']).toBe(state);
    world.advance(100);
    expect(world.task('job', 'a')).toMatchObject({ state: 'failed', error: { code: 'timeout' } });
  });

  test('stops a running task, which then is not tried again', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a', totalMs)] });
    const [a] = node.poll();
    world.advance(100);
    expect(node.beat().abort).toEqual([a!.lease]);
    node.abort(a!);
    expect(world.task('job', 'a')).toMatchObject({ state: 'failed', error: { code: 'timeout' } });
    expect(world.task('job', 'a').error?.message).toMatch(/^timeouts.totalMs is over/);
  });

  test('counts from the creation of a child, not of its job', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('parent')] });
    const [parent] = node.poll();
    world.advance(1_000);
    node.spawn(parent!, [echo('child', totalMs)]);
    world.advance(99);
    expect(world.states('job')['child']).toBe('ready');
    world.advance(1);
    expect(world.states('job')['child']).toBe('failed');
  });

  test('counts anew for a redriven task, also over a restart', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a', totalMs), echo('slow')] });
    const slow = node.poll(2).find(({ taskId }) => taskId === 'slow');
    world.advance(100);
    node.obey();
    const a = [...node.held.values()].find(({ taskId }) => taskId === 'a');
    node.abort(a!);
    expect(world.task('job', 'a').state).toBe('failed');
    world.redrive('job', 'a');
    world.advance(60);
    world.restart();
    world.advance(39);
    expect(world.states('job')).toEqual({ a: 'ready', slow: 'running' });
    const [again] = node.poll();
    expect(node.complete(again!)).toBe('ok');
    expect(slow).toBeDefined();
  });
});

describe('the timeout of a job', () => {
  test('stops all that is left and fails the job', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', timeouts: { totalMs: 100 }, tasks: [echo('a'), echo('b')] });
    const [a] = node.poll(1);
    world.advance(100);
    expect(world.states('job')).toEqual({ a: 'running', b: 'cancelled' });
    expect(world.job('job')).toMatchObject({ state: 'running', stopping: 'timeout' });
    node.abort(a!);
    expect(world.job('job')).toMatchObject({ state: 'failed', error: { code: 'timeout' } });
  });

  test('does not outlive its job', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', timeouts: { totalMs: 100 }, tasks: [echo('a')] });
    node.complete(node.poll()[0]!);
    world.advance(1_000);
    expect(world.job('job').state).toBe('succeeded');
  });

  test('counts anew for a re-run, also when that has not begun before a restart', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', timeouts: { totalMs: 100 }, tasks: [echo('a')] });
    node.fail(node.poll()[0]!, { failure: 'fatal' });
    world.advance(10_000);
    world.rerun('job');
    world.advance(50);
    expect(world.states('job')).toEqual({ a: 'ready' });
    world.restart();
    world.advance(50);
    expect(world.states('job')).toEqual({ a: 'ready' });
  });
});

test('timers that will never matter again do not pile up', () => {
  const world = new Harness({ checks: false });
  const node = world.node('w1');
  const timeouts = { queueMs: 3_600_000, runMs: 3_600_000, totalMs: 3_600_000 };
  for (let round = 0; round < 200; round += 1) {
    world.submit({
      name: `job-${round}`,
      timeouts: { totalMs: 3_600_000 },
      tasks: echoes(50, { timeouts }),
    });
    for (const task of node.poll(50)) {
      node.start(task);
      node.complete(task);
    }
    world.tick();
  }
  expect(world.state.timers.size).toBeLessThan(5_000);
});

test.each(Array.from({ length: 12 }, (_, at) => at))(
  'a timer from an earlier life of a job does not hit the task that is there now (%i)',
  (releases) => {
    const world = new Harness();
    const node = world.node('w1');
    const retry = { backoffMs: 5_000 };
    const tasks = [echo('a', { retry }), echo('b', { placement: { capabilities: { no: 1 } } })];
    world.submit({ name: 'job', tasks });
    const giveBack = (times: number): void => {
      for (let at = 0; at < times; at += 1) node.release(node.poll(1)[0]!);
    };
    giveBack(5);
    node.fail(node.poll(1)[0]!);
    world.cancel('job');
    world.rerun('job');
    // At some number of moves the task looks just like the one that the timer was armed for.
    giveBack(releases);
    node.poll(1);
    world.advance(5_000);
    expect(world.states('job')).toEqual({ a: 'running', b: 'ready' });
  },
);
