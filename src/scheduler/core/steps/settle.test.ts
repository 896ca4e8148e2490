import { describe, expect, test } from 'vitest';
import { Harness, echo } from '../../../../test/rig/harness.ts';

describe('dependencies', () => {
  test('a task waits for the tasks it depends on', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('b', { dependsOn: ['a'] }), echo('a')] });
    expect(world.states('job')).toEqual({ b: 'blocked', a: 'ready' });
    const [a] = node.poll(10);
    expect(node.poll(10)).toEqual([]);
    node.complete(a!, 1);
    expect(world.states('job')).toEqual({ b: 'ready', a: 'succeeded' });
  });

  test('a null result is a result: the dependents go on', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a'), echo('b', { dependsOn: ['a'] })] });
    node.complete(node.poll()[0]!, null);
    expect(world.states('job')).toEqual({ a: 'succeeded', b: 'ready' });
    expect(world.task('job', 'a').result).toBeNull();
  });

  test('a required dependency that fails skips everything below it', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({
      name: 'job',
      tasks: [
        echo('a'),
        echo('b', { dependsOn: ['a'] }),
        echo('c', { dependsOn: ['b'] }),
        echo('free'),
      ],
    });
    const [a, free] = node.poll(10);
    node.fail(a!, { failure: 'fatal' });
    expect(world.states('job')).toEqual({
      a: 'failed',
      b: 'skipped',
      c: 'skipped',
      free: 'running',
    });
    expect(world.job('job').state).toBe('running');
    node.complete(free!);
    expect(world.job('job')).toMatchObject({
      state: 'failed',
      error: { code: 'task_failed', message: 'task a failed: it broke' },
    });
  });

  test('an optional dependency only has to end', () => {
    const world = new Harness();
    const node = world.node('w1');
    const maybe = { id: 'a', required: false };
    world.submit({ name: 'job', tasks: [echo('a'), echo('b', { dependsOn: [maybe] })] });
    node.fail(node.poll()[0]!, { failure: 'fatal' });
    expect(world.states('job')).toEqual({ a: 'failed', b: 'ready' });
    node.complete(node.poll()[0]!);
    expect(world.job('job').state).toBe('failed');
  });

  test('a skipped optional dependency has ended, too', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({
      name: 'job',
      tasks: [
        echo('a'),
        echo('b', { dependsOn: ['a'] }),
        echo('c', { dependsOn: [{ id: 'b', required: false }] }),
      ],
    });
    node.fail(node.poll()[0]!, { failure: 'fatal' });
    expect(world.states('job')).toEqual({ a: 'failed', b: 'skipped', c: 'ready' });
  });

  test('one that may be skipped must not fail, nor be skipped because something failed', () => {
    const world = new Harness();
    const node = world.node('w1');
    const unless = (id: string): object => ({ dependsOn: [{ id, required: 'unlessSkipped' }] });
    world.submit({
      name: 'job',
      tasks: [
        echo('bad'),
        echo('off'),
        echo('below-bad', { dependsOn: ['bad'] }),
        echo('below-off', { dependsOn: ['off'] }),
        ...['bad', 'off', 'below-bad', 'below-off'].map((id) => echo(`after-${id}`, unless(id))),
      ],
    });
    const [bad, off] = node.poll(2);
    node.fail(bad!, { failure: 'fatal' });
    node.skip(off!, 'its condition does not hold');
    expect(world.states('job')).toMatchObject({
      'after-bad': 'skipped',
      'after-off': 'ready',
      'after-below-bad': 'skipped',
      'after-below-off': 'ready',
    });
    const message = 'not run, because task bad failed';
    for (const id of ['after-bad', 'below-bad', 'after-below-bad']) {
      expect(world.task('job', id).error).toEqual({ code: 'dependency_failed', message });
    }
    expect(world.task('job', 'below-off').error).toBeNull();
  });

  test('one that may be skipped is not run after a cancelled one either', () => {
    const world = new Harness();
    const node = world.node('w1');
    const unless = { dependsOn: ['a', { id: 'b', required: 'unlessSkipped' }] };
    const tasks = [echo('a'), echo('b', { dependsOn: ['a'] }), echo('z'), echo('c', unless)];
    world.submit({ name: 'job', onFailure: 'cancel', tasks });
    const [a, z] = node.poll(2);
    node.complete(a!);
    node.fail(z!, { failure: 'fatal' });
    expect(world.states('job')).toMatchObject({ b: 'cancelled', c: 'cancelled' });
    world.redrive('job', 'z');
    expect(world.states('job')).toMatchObject({ z: 'ready', b: 'cancelled', c: 'cancelled' });
  });

  test('a task with a failed required dependency is skipped though others are still open', () => {
    const world = new Harness();
    const node = world.node('w1');
    const both = { dependsOn: ['a', 'slow'] };
    world.submit({ name: 'job', tasks: [echo('a'), echo('slow'), echo('b', both)] });
    const [a, slow] = node.poll(2);
    node.fail(a!, { failure: 'fatal' });
    expect(world.states('job')['b']).toBe('skipped');
    node.complete(slow!);
    expect(world.states('job')['b']).toBe('skipped');
  });

  test('a diamond runs its tip once, after both sides', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({
      name: 'job',
      tasks: [
        echo('top'),
        echo('left', { dependsOn: ['top'] }),
        echo('right', { dependsOn: ['top'] }),
        echo('tip', { dependsOn: ['left', 'right'] }),
      ],
    });
    node.complete(node.poll()[0]!);
    const [left, right] = node.poll(2);
    node.complete(left!);
    expect(world.states('job')['tip']).toBe('blocked');
    node.complete(right!);
    const tips = node.poll(9);
    expect(tips.map(({ taskId }) => taskId)).toEqual(['tip']);
    node.complete(tips[0]!);
    expect(world.job('job').state).toBe('succeeded');
    expect(world.history('job', 'tip').filter((kind) => kind === 'queued')).toHaveLength(1);
  });
});

describe('the end of a job', () => {
  test('a job is queued, runs with its first assignment and ends with its last task', () => {
    const world = new Harness();
    const node = world.node('w1');
    expect(world.submit({ name: 'job', tasks: [echo('a')] })).toMatchObject({ state: 'queued' });
    expect(world.job('job')).toMatchObject({ state: 'queued', startedAt: null });
    const [a] = node.poll();
    expect(world.job('job')).toMatchObject({ state: 'running', startedAt: world.now });
    world.advance(5);
    node.complete(a!);
    expect(world.job('job')).toMatchObject({ state: 'succeeded', finishedAt: world.now });
    expect(world.state.jobs.size).toBe(0);
  });

  test('with on-failure cancel the first failure stops all the others', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({
      name: 'job',
      onFailure: 'cancel',
      tasks: [echo('a'), echo('b'), echo('c'), echo('d', { dependsOn: ['c'] })],
    });
    const [a, b] = node.poll(2);
    node.fail(a!, { failure: 'fatal' });
    expect(world.states('job')).toEqual({
      a: 'failed',
      b: 'running',
      c: 'cancelled',
      d: 'cancelled',
    });
    expect(world.job('job')).toMatchObject({ state: 'running', stopping: 'failure' });
    expect(node.orders.abort).toEqual([b!.lease]);
    expect(node.abort(b!)).toBe('ok');
    expect(world.job('job')).toMatchObject({
      state: 'failed',
      stopping: null,
      error: { code: 'task_failed', message: 'task a failed: it broke' },
    });
  });

  test('a failure that is retried does not stop the job', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', onFailure: 'cancel', tasks: [echo('a'), echo('b')] });
    node.fail(node.poll()[0]!);
    expect(world.states('job')).toEqual({ a: 'delayed', b: 'ready' });
  });

  test('every transition is in the log, in order and without a gap', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a')] });
    const [a] = node.poll();
    node.start(a!);
    node.progress(a!, 0.5, 'half');
    node.complete(a!, 1);
    const kinds = world.log().map(({ kind }) => kind);
    expect(kinds).toEqual([
      'node.registered',
      'job.created',
      'created',
      'queued',
      'assigned',
      'job.started',
      'started',
      'progress',
      'completed',
      'job.succeeded',
    ]);
    expect(world.log().map(({ seq }) => seq)).toEqual(kinds.map((_, at) => at + 1));
  });
});

test('a chain of 100,000 tasks runs to its end', () => {
  const world = new Harness({ checks: false });
  const node = world.node('w1');
  const length = 100_000;
  const tasks = Array.from({ length }, (_, at) =>
    echo(`t${at}`, at === 0 ? {} : { dependsOn: [`t${at - 1}`] }),
  );
  world.submit({ name: 'chain', tasks });
  for (let at = 0; at < length; at += 1) node.complete(node.poll()[0]!);
  expect(world.job('chain').state).toBe('succeeded');
  world.check();
});

test('a chain of 100,000 tasks is skipped at once when its first one fails', () => {
  const world = new Harness({ checks: false });
  const node = world.node('w1');
  const length = 100_000;
  const tasks = Array.from({ length }, (_, at) =>
    echo(`t${at}`, at === 0 ? {} : { dependsOn: [`t${at - 1}`] }),
  );
  world.submit({ name: 'chain', tasks });
  node.fail(node.poll()[0]!, { failure: 'fatal' });
  expect(world.job('chain').state).toBe('failed');
  expect(world.task('chain', 't99999').state).toBe('skipped');
  world.check();
});
