import { describe, expect, test } from 'vitest';
import { Harness, echo } from '../../../../test/rig/harness.ts';
import type { ScriptedNode } from '../../../../test/rig/harness/scripted-node.ts';

const TASKS = [
  echo('a'),
  echo('b', { dependsOn: ['a'] }),
  echo('c', { dependsOn: ['b'] }),
  echo('d', { dependsOn: ['a'] }),
];

/** A finished job in which `a` and `d` succeeded, `b` failed and `c` was skipped. */
function failed(): { world: Harness; node: ScriptedNode } {
  const world = new Harness();
  const node = world.node('w1');
  world.submit({ name: 'job', tasks: TASKS });
  node.complete(node.poll(1)[0]!, 'of a');
  const [b, d] = node.poll(2);
  node.fail(b!, { failure: 'fatal' });
  node.complete(d!, 'of d');
  expect(world.job('job').state).toBe('failed');
  return { world, node };
}

describe('a re-run', () => {
  test('starts from what did not succeed and keeps the rest', () => {
    const { world, node } = failed();
    expect(world.rerun('job')).toMatchObject({ state: 'queued', run: 2, changed: true });
    expect(world.states('job')).toEqual({
      a: 'succeeded',
      b: 'ready',
      c: 'blocked',
      d: 'succeeded',
    });
    expect(world.job('job')).toMatchObject({ error: null, finishedAt: null, startedAt: null });
    node.complete(node.poll(9)[0]!, 'of b');
    node.complete(node.poll(9)[0]!, 'of c');
    expect(world.job('job')).toMatchObject({ state: 'succeeded', run: 2 });
    expect(world.task('job', 'a')).toMatchObject({ run: 1, result: 'of a' });
  });

  test('is a new generation: counters start anew, fences go on, history is kept', () => {
    const { world, node } = failed();
    world.rerun('job');
    const row = world.task('job', 'b');
    expect(row).toMatchObject({ run: 2, attempt: 0, failures: 0, error: null, progress: 0 });
    expect(row.history).toHaveLength(1);
    expect(row.history[0]).toMatchObject({ run: 1, state: 'failed', failures: 1 });
    expect(node.poll(1)[0]).toMatchObject({ run: 2, attempt: 1, lease: { fence: 2 } });
  });

  test('keeps the history of every run', () => {
    const { world, node } = failed();
    for (let run = 2; run <= 4; run += 1) {
      world.rerun('job');
      node.fail(node.poll(1)[0]!, { failure: 'fatal' });
      expect(world.job('job')).toMatchObject({ state: 'failed', run });
    }
    expect(world.task('job', 'b').history.map(({ run }) => run)).toEqual([1, 2, 3]);
    expect(world.task('job', 'c').history.map(({ state }) => state)).toEqual([
      'skipped',
      'skipped',
      'skipped',
    ]);
  });

  test('expected at another run changes nothing, so a repeated call is harmless', () => {
    const { world } = failed();
    expect(world.rerun('job', 1)).toMatchObject({ run: 2, changed: true });
    expect(world.rerun('job', 1)).toMatchObject({ run: 2, changed: false });
  });

  test('of a job that has succeeded is refused, and leaves nothing in memory', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a')] });
    node.complete(node.poll()[0]!);
    expect(world.rerun('job')).toMatchObject({ type: 'refused', error: { code: 'conflict' } });
    expect(world.state.jobs.size).toBe(0);
    world.check();
  });

  test('of a job that runs changes nothing', () => {
    const world = new Harness();
    world.submit({ name: 'job', tasks: [echo('a')] });
    expect(world.rerun('job')).toMatchObject({ type: 'job', run: 1, changed: false });
  });

  test('of a cancelled job runs what was cancelled', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a'), echo('b')] });
    node.complete(node.poll(1)[0]!, 1);
    world.cancel('job');
    world.rerun('job');
    expect(world.states('job')).toEqual({ a: 'succeeded', b: 'ready' });
  });

  test('of a job that is being stopped is refused', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a')] });
    node.poll();
    world.cancel('job');
    expect(world.rerun('job')).toMatchObject({ type: 'refused', error: { code: 'conflict' } });
  });

  test('waits until the rows it would put into the history are written', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a'), echo('slow')] });
    const [a] = node.poll(2);
    const error = { code: 'oops', message: 'it broke' };
    const item = { kind: 'failed', lease: a!.lease, error, failure: 'fatal' } as const;
    const redrive = { type: 'rerun', jobId: a!.jobId, taskId: a!.taskId } as const;
    const [, early] = world.together([node.reporting([item]), redrive]);
    expect(world.takeReply(early!)).toMatchObject({ error: { code: 'conflict' } });
    expect(world.ask(redrive)).toMatchObject({ type: 'job', changed: true });
    expect(world.task('job', 'a').history).toMatchObject([{ state: 'failed', run: 1 }]);
  });

  test('of a job that nobody knows is refused', () => {
    const world = new Harness();
    expect(world.rerun('nothing')).toMatchObject({ type: 'refused', error: { code: 'not_found' } });
  });

  test('survives a restart at every step', () => {
    const { world, node } = failed();
    world.restart();
    world.rerun('job');
    world.restart();
    const [b] = node.poll(1);
    world.restart();
    expect(node.complete(b!)).toBe('ok');
    world.restart();
    node.complete(node.poll(1)[0]!);
    expect(world.job('job')).toMatchObject({ state: 'succeeded', run: 2 });
  });
});

describe('redrive', () => {
  test('runs one dead task of a live job again, and what was skipped because of it', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [...TASKS, echo('slow')] });
    const [a, slow] = node.poll(2);
    node.complete(a!);
    const [b, d] = node.poll(2);
    node.fail(b!, { failure: 'fatal' });
    node.fail(d!, { failure: 'fatal' });
    expect(world.redrive('job', 'b')).toMatchObject({ state: 'running', run: 1, changed: true });
    expect(world.states('job')).toEqual({
      a: 'succeeded',
      b: 'ready',
      c: 'blocked',
      d: 'failed',
      slow: 'running',
    });
    node.complete(slow!);
    node.complete(node.poll(1)[0]!);
    node.complete(node.poll(1)[0]!);
    expect(world.job('job')).toMatchObject({ state: 'failed', run: 1 });
  });

  test('of a finished job makes it a new run', () => {
    const { world, node } = failed();
    expect(world.redrive('job', 'b')).toMatchObject({ state: 'queued', run: 2, changed: true });
    node.complete(node.poll(1)[0]!);
    node.complete(node.poll(1)[0]!);
    expect(world.job('job').state).toBe('succeeded');
  });

  test('leaves skipped what another failed task keeps from running', () => {
    const world = new Harness();
    const node = world.node('w1');
    const tasks = [echo('x'), echo('y'), echo('both', { dependsOn: ['x', 'y'] })];
    world.submit({ name: 'job', tasks });
    for (const task of node.poll(2)) node.fail(task, { failure: 'fatal' });
    world.redrive('job', 'x');
    expect(world.states('job')).toEqual({ x: 'ready', y: 'failed', both: 'skipped' });
    node.complete(node.poll(1)[0]!);
    expect(world.job('job').state).toBe('failed');
  });

  test('makes those wait again that still wait, and not more than once', () => {
    const world = new Harness();
    const node = world.node('w1');
    const maybe = (id: string): object => ({ id, required: false });
    const tasks = [echo('x'), echo('y'), echo('both', { dependsOn: [maybe('x'), maybe('y')] })];
    world.submit({ name: 'job', tasks });
    const [x, y] = node.poll(2);
    node.fail(x!, { failure: 'fatal' });
    world.redrive('job', 'x');
    const [again] = node.poll(1);
    node.complete(again!);
    expect(world.states('job')['both']).toBe('blocked');
    node.complete(y!);
    expect(world.states('job')['both']).toBe('ready');
  });

  test('skips those again whose dependency has still failed, and says why', () => {
    const world = new Harness();
    const node = world.node('w1');
    const both = { dependsOn: ['x', { id: 'below', required: 'unlessSkipped' }] };
    const tasks = [echo('x'), echo('y'), echo('below', { dependsOn: ['y'] }), echo('both', both)];
    world.submit({ name: 'job', tasks });
    for (const each of node.poll(2)) node.fail(each, { failure: 'fatal' });
    world.redrive('job', 'x');
    expect(world.states('job')).toEqual({
      x: 'ready',
      y: 'failed',
      below: 'skipped',
      both: 'skipped',
    });
    expect(world.task('job', 'both').error).toEqual({
      code: 'dependency_failed',
      message: 'not run, because task y failed',
    });
    node.complete(node.poll(1)[0]!);
    world.rerun('job');
    expect(world.states('job')).toMatchObject({ y: 'ready', below: 'blocked', both: 'blocked' });
    expect(world.task('job', 'both').error).toBeNull();
    node.complete(node.poll(1)[0]!);
    node.complete(node.poll(1)[0]!);
    expect(world.states('job')).toMatchObject({ below: 'succeeded', both: 'ready' });
  });

  test('makes those wait again that wait for an execution key', () => {
    const world = new Harness();
    const node = world.node('w1');
    const key = { idempotencyKey: 'k' };
    world.submit({ name: 'owner', tasks: [echo('o', key)] });
    const [owner] = node.poll(1);
    const after = echo('after', { ...key, dependsOn: [{ id: 'x', required: false }] });
    world.submit({ name: 'job', tasks: [echo('x'), after] });
    node.fail(node.poll(1)[0]!, { failure: 'fatal' });
    expect(world.explain('job', 'after')?.code).toBe('execution_key');
    world.redrive('job', 'x');
    expect(world.explain('job', 'after')?.code).toBe('dependencies');
    node.fail(owner!, { failure: 'fatal' });
    node.complete(node.poll(1)[0]!);
    expect(node.poll(1)[0]?.taskId).toBe('after');
  });

  test('in a job that stops at the first failure goes on with all that depends on the task', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', onFailure: 'cancel', tasks: TASKS });
    node.fail(node.poll(1)[0]!, { failure: 'fatal' });
    expect(world.states('job')).toEqual({
      a: 'failed',
      b: 'skipped',
      c: 'cancelled',
      d: 'skipped',
    });
    world.redrive('job', 'a');
    expect(world.states('job')).toEqual({ a: 'ready', b: 'blocked', c: 'blocked', d: 'blocked' });
  });

  test('that leaves cancelled tasks behind does not make the job a success', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', onFailure: 'cancel', tasks: [echo('a'), echo('other')] });
    node.fail(node.poll(1)[0]!, { failure: 'fatal' });
    expect(world.states('job')).toEqual({ a: 'failed', other: 'cancelled' });
    world.redrive('job', 'a');
    node.complete(node.poll(1)[0]!);
    expect(world.states('job')).toEqual({ a: 'succeeded', other: 'cancelled' });
    expect(world.job('job').state).toBe('cancelled');
  });

  test('takes along those of its children that made it fail', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('map'), echo('after', { dependsOn: ['map'] })] });
    node.spawn(node.poll(1)[0]!, [echo('good'), echo('bad')]);
    const [good, bad] = node.poll(2);
    node.complete(good!);
    node.fail(bad!, { failure: 'fatal' });
    node.fail(node.poll(1)[0]!, { failure: 'fatal' });
    world.redrive('job', 'map');
    expect(world.states('job')).toEqual({
      map: 'ready',
      after: 'blocked',
      good: 'succeeded',
      bad: 'ready',
    });
  });

  test('of a task that has not failed changes nothing', () => {
    const { world } = failed();
    expect(world.redrive('job', 'a')).toMatchObject({ type: 'job', run: 1, changed: false });
    expect(world.state.jobs.size).toBe(0);
  });

  test('of a task that is not there is refused', () => {
    const { world } = failed();
    expect(world.redrive('job', 'zzz')).toMatchObject({ error: { code: 'not_found' } });
    expect(world.state.jobs.size).toBe(0);
  });
});
