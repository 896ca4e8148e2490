import { describe, expect, test } from 'vitest';
import { Harness, echo } from '../../../../test/rig/harness.ts';

describe('cancel', () => {
  test('ends what has not begun at once: queued, delayed and blocked tasks', () => {
    const world = new Harness();
    const node = world.node('w1');
    const tasks = [echo('delayed'), echo('queued'), echo('blocked', { dependsOn: ['queued'] })];
    world.submit({ name: 'job', tasks });
    node.fail(node.poll()[0]!);
    expect(world.cancel('job', 'no longer needed')).toMatchObject({
      type: 'job',
      state: 'cancelled',
      changed: true,
    });
    expect(world.states('job')).toEqual({
      delayed: 'cancelled',
      queued: 'cancelled',
      blocked: 'cancelled',
    });
    expect(world.job('job')).toMatchObject({
      state: 'cancelled',
      error: { code: 'cancelled', message: 'no longer needed' },
    });
  });

  test('reaches a running task on its node, and the job ends when that has stopped', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a')] });
    const [a] = node.poll();
    node.start(a!);
    expect(world.cancel('job')).toMatchObject({ state: 'running', changed: true });
    expect(world.task('job', 'a')).toMatchObject({ state: 'running', stopping: 'cancel' });
    expect(node.beat().abort).toEqual([a!.lease]);
    expect(node.abort(a!)).toBe('ok');
    expect(world.task('job', 'a').state).toBe('cancelled');
    expect(world.job('job').state).toBe('cancelled');
  });

  test('is part of every answer until the worker has confirmed it', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a'), echo('b')] });
    const [a] = node.poll(1);
    world.cancel('job');
    expect(node.beat().abort).toEqual([a!.lease]);
    world.restart();
    expect(node.beat().abort).toEqual([a!.lease]);
    node.obey();
    expect(node.beat().abort).toEqual([]);
  });

  test('that was committed before the completion arrives wins', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a')] });
    const [a] = node.poll();
    world.cancel('job');
    expect(node.complete(a!, 1)).toBe('lost');
    expect(world.task('job', 'a')).toMatchObject({ state: 'cancelled', result: null });
    expect(world.job('job').state).toBe('cancelled');
  });

  test('that comes after the completion changes nothing', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a')] });
    expect(node.complete(node.poll()[0]!, 1)).toBe('ok');
    const { lastSeq } = world.rows;
    expect(world.cancel('job')).toMatchObject({ type: 'refused', error: { code: 'not_found' } });
    expect(world.rows.lastSeq).toBe(lastSeq);
    expect(world.job('job').state).toBe('succeeded');
  });

  test('asked twice changes nothing the second time', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a')] });
    node.poll();
    world.cancel('job', 'first');
    const { lastSeq } = world.rows;
    expect(world.cancel('job', 'second')).toMatchObject({ changed: false });
    expect(world.rows.lastSeq).toBe(lastSeq);
    expect(world.job('job').error?.message).toBe('first');
  });

  test.each([
    ['fails', 'fail'],
    ['is given back', 'release'],
    ['goes to sleep', 'sleep'],
  ] as const)('wins when the running task %s meanwhile', (_what, way) => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a')] });
    const [a] = node.poll();
    world.cancel('job');
    if (way === 'sleep') node.sleep(a!, 1_000);
    else node[way](a!);
    expect(world.task('job', 'a').state).toBe('cancelled');
    expect(world.job('job').state).toBe('cancelled');
  });

  test('wins when the worker only begins the task after the order', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a')] });
    const [a] = node.poll();
    world.cancel('job');
    expect(node.start(a!)).toBe('ok');
    expect(node.orders.abort).toEqual([a!.lease]);
    node.obey();
    expect(world.job('job').state).toBe('cancelled');
  });

  test('of a job that nobody knows is refused', () => {
    const world = new Harness();
    expect(world.cancel('nothing')).toMatchObject({
      type: 'refused',
      error: { code: 'not_found' },
    });
  });
});

describe('stopping survives a restart', () => {
  test('no task of a cancelled job succeeds under the next leader', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a'), echo('b')] });
    const [a, b] = node.poll(2);
    world.cancel('job');
    node.abort(b!);
    world.restart();
    expect(node.complete(a!, 1)).toBe('lost');
    expect(world.job('job').state).toBe('cancelled');
  });

  test('nor when the session that held it did not survive', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a')] });
    node.poll();
    world.cancel('job');
    world.rows.nodes.clear();
    world.restart();
    expect(world.states('job')).toEqual({ a: 'cancelled' });
    expect(world.job('job').state).toBe('cancelled');
  });
});
