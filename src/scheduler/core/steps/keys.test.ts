import { describe, expect, test } from 'vitest';
import { Harness, echo } from '../../../../test/rig/harness.ts';

const keyed = (id: string, more: object = {}): Readonly<Record<string, unknown>> =>
  echo(id, { idempotencyKey: 'k', ...more });

describe('an execution key', () => {
  test('that is pending makes a second task wait, which then takes the same result', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'one', tasks: [keyed('a')] });
    world.submit({ name: 'two', tasks: [keyed('b'), echo('c', { dependsOn: ['b'] })] });
    const [a, ...others] = node.poll(9);
    expect(others).toEqual([]);
    expect(world.states('two')).toEqual({ b: 'blocked', c: 'blocked' });
    expect(world.rows.keys.get('echo/k')).toMatchObject({ state: 'pending', jobNo: 1, taskNo: 0 });
    node.complete(a!, { n: 1 });
    expect(world.task('two', 'b')).toMatchObject({ state: 'succeeded', result: { n: 1 } });
    expect(world.states('two')['c']).toBe('ready');
    expect(world.rows.keys.get('echo/k')).toMatchObject({ state: 'completed', result: '{"n":1}' });
  });

  test('that is completed finishes a later task at once, with the stored result', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'one', tasks: [keyed('a')] });
    node.complete(node.poll()[0]!, 'done');
    expect(world.submit({ name: 'two', tasks: [keyed('b')] })).toMatchObject({
      state: 'succeeded',
      changed: true,
    });
    expect(world.task('two', 'b')).toMatchObject({
      state: 'succeeded',
      result: 'done',
      attempt: 0,
    });
  });

  test('with a null result is completed, too', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'one', tasks: [keyed('a')] });
    node.complete(node.poll()[0]!, null);
    world.submit({ name: 'two', tasks: [keyed('b')] });
    expect(world.task('two', 'b')).toMatchObject({ state: 'succeeded', result: null });
  });

  test('whose owner fails goes to the oldest that waits', () => {
    const world = new Harness();
    const node = world.node('w1');
    for (const name of ['one', 'two', 'three']) world.submit({ name, tasks: [keyed('a')] });
    node.fail(node.poll(9)[0]!, { failure: 'fatal' });
    expect(['one', 'two', 'three'].map((job) => world.states(job)['a'])).toEqual([
      'failed',
      'ready',
      'blocked',
    ]);
    expect(world.rows.keys.get('echo/k')).toMatchObject({ state: 'pending', jobNo: 2 });
    node.complete(node.poll(9)[0]!, 2);
    expect(world.task('three', 'a')).toMatchObject({ state: 'succeeded', result: 2 });
  });

  test('stays with its owner over retries, losses, releases and sleeps', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'one', tasks: [keyed('a')] });
    world.submit({ name: 'two', tasks: [keyed('a')] });
    node.fail(node.poll()[0]!);
    world.advance(1_000);
    node.release(node.poll()[0]!);
    node.sleep(node.poll()[0]!, 10);
    world.advance(10);
    node.poll();
    node.restartProcess();
    world.advance(10_000);
    expect(node.poll(9).map(({ jobId }) => jobId)).toEqual(['one']);
    expect(world.states('two')).toEqual({ a: 'blocked' });
  });

  test('is free again when its last owner did not succeed', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'one', tasks: [keyed('a')] });
    node.fail(node.poll()[0]!, { failure: 'fatal' });
    expect(world.rows.keys.size).toBe(0);
    world.submit({ name: 'two', tasks: [keyed('a')] });
    expect(node.poll()).toHaveLength(1);
  });

  test('is passed on when the job of its owner is cancelled, queued or running', () => {
    for (const isRunning of [false, true]) {
      const world = new Harness();
      const node = world.node('w1');
      world.submit({ name: 'one', tasks: [keyed('a')] });
      world.submit({ name: 'two', tasks: [keyed('a')] });
      if (isRunning) node.poll(9);
      world.cancel('one');
      if (isRunning) {
        node.beat();
        node.obey();
      }
      expect(world.states('two')).toEqual({ a: 'ready' });
    }
  });

  test('does not count a waiter that was cancelled', () => {
    const world = new Harness();
    const node = world.node('w1');
    for (const name of ['one', 'two', 'three']) world.submit({ name, tasks: [keyed('a')] });
    world.cancel('two');
    node.fail(node.poll()[0]!, { failure: 'fatal' });
    expect(world.states('three')).toEqual({ a: 'ready' });
  });

  test('is scoped by executor', () => {
    const world = new Harness();
    const node = world.node('w1', { executors: ['echo', 'sql'] });
    const tasks = [keyed('a'), { id: 'b', executor: 'sql', idempotencyKey: 'k' }];
    world.submit({ name: 'job', tasks });
    expect(node.poll(9)).toHaveLength(2);
  });

  test('shared by tasks of one job runs one of them', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [keyed('a'), keyed('b'), keyed('c')] });
    const tasks = node.poll(9);
    expect(tasks).toHaveLength(1);
    node.complete(tasks[0]!, 1);
    expect(world.job('job').state).toBe('succeeded');
    expect(world.task('job', 'c').result).toBe(1);
  });

  test('shared by all tasks of a job that is cancelled leaves nothing behind', () => {
    const world = new Harness();
    world.submit({ name: 'job', tasks: [keyed('a'), keyed('b'), keyed('c')] });
    world.cancel('job');
    expect(world.rows.keys.size).toBe(0);
  });

  test('is not claimed by a task that waits for its dependencies', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'one', tasks: [echo('first'), keyed('a', { dependsOn: ['first'] })] });
    world.submit({ name: 'two', tasks: [keyed('a')] });
    const tasks = node.poll(9);
    expect(tasks.map(({ jobId }) => jobId)).toEqual(['one', 'two']);
    node.complete(tasks[0]!);
    expect(world.states('one')['a']).toBe('blocked');
    node.complete(tasks[1]!, 5);
    expect(world.task('one', 'a')).toMatchObject({ state: 'succeeded', result: 5 });
  });

  test('that times out while it waits gives up its place', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'one', tasks: [keyed('a')] });
    world.submit({ name: 'two', tasks: [keyed('a', { timeouts: { totalMs: 100 } })] });
    const [a] = node.poll(9);
    world.advance(100);
    expect(world.states('two')).toEqual({ a: 'failed' });
    node.complete(a!);
    expect(world.states('two')).toEqual({ a: 'failed' });
  });
});

describe('over a restart', () => {
  test('waiting tasks continue to wait, and take the result', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'one', tasks: [keyed('a')] });
    world.submit({ name: 'two', tasks: [keyed('a')] });
    const [a] = node.poll();
    world.restart();
    expect(node.poll(9)).toEqual([]);
    node.complete(a!, 1);
    expect(world.task('two', 'a')).toMatchObject({ state: 'succeeded', result: 1 });
  });

  test('in whatever order the jobs come back', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'one', tasks: [keyed('a')] });
    world.submit({ name: 'two', tasks: [keyed('a')] });
    const [a] = node.poll();
    const liveImages = world.rows.liveImages.bind(world.rows);
    world.rows.liveImages = () => liveImages().toReversed();
    world.restart();
    node.fail(a!, { failure: 'fatal' });
    expect(world.states('two')).toEqual({ a: 'ready' });
  });

  test('a re-run of a failed task takes what another has completed meanwhile', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'one', tasks: [keyed('a')] });
    node.fail(node.poll()[0]!, { failure: 'fatal' });
    world.submit({ name: 'two', tasks: [keyed('a')] });
    node.complete(node.poll()[0]!, 'from two');
    world.restart();
    expect(world.rerun('one')).toMatchObject({ state: 'succeeded', run: 2 });
    expect(world.task('one', 'a')).toMatchObject({ state: 'succeeded', result: 'from two' });
  });
});

describe('a child with the key of a task above it', () => {
  test('is not waited for by its parent, for it waits for that one itself', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [keyed('parent')] });
    node.spawn(node.poll(1)[0]!, [keyed('child'), echo('other')]);
    expect(world.states('job')).toEqual({ parent: 'blocked', child: 'blocked', other: 'ready' });
    node.complete(node.poll(1)[0]!);
    world.restart();
    node.complete(node.poll(1)[0]!, 'of both');
    expect(world.task('job', 'child')).toMatchObject({ state: 'succeeded', result: 'of both' });
    expect(world.job('job').state).toBe('succeeded');
  });

  test('nor by a parent further down', () => {
    const world = new Harness();
    const node = world.node('w1');
    const tasks = [
      keyed('top'),
      echo('middle', { parent: 'top' }),
      keyed('leaf', { parent: 'middle' }),
    ];
    world.submit({ name: 'job', tasks });
    const [top, middle] = node.poll(2);
    node.spawn(top!, []);
    node.spawn(middle!, []);
    const [resumed] = node.poll(9);
    expect(resumed).toMatchObject({ taskId: 'middle', resumed: true });
    node.complete(resumed!);
    node.complete(node.poll(9)[0]!, 'of top');
    expect(world.task('job', 'leaf')).toMatchObject({ state: 'succeeded', result: 'of top' });
    expect(world.job('job').state).toBe('succeeded');
  });
});
