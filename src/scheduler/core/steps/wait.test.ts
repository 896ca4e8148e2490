import { describe, expect, test } from 'vitest';
import { Harness, echo } from '../../../../test/rig/harness.ts';
import type { ScriptedNode, Waiting } from '../../../../test/rig/harness/scripted-node.ts';
import type { Assignment, JobId } from '../index.ts';

const child = { tasks: [echo('x')] };

/** A world in which `node` runs task `a` of `job`. */
function running(more: object = {}): { world: Harness; node: ScriptedNode; a: Assignment } {
  const world = new Harness();
  const node = world.node('w1');
  world.submit({ name: 'job', tasks: [echo('a', more)] });
  return { world, node, a: node.poll(1)[0]! };
}

function waiting(what: Waiting, more: object = {}): { world: Harness; node: ScriptedNode } {
  const { world, node, a } = running(more);
  expect(node.wait(a, what)).toBe('ok');
  return { world, node };
}

describe('a sleep', () => {
  test('holds no slot, spends no attempt, and ends when its time is over', () => {
    const { world, node } = waiting({ sleepMs: 86_400_000 });
    const until = world.later(86_400_000);
    expect(world.task('job', 'a')).toMatchObject({
      state: 'delayed',
      suspended: 'time',
      notBefore: until,
      sessionId: null,
    });
    expect(world.steps('job', 'a')).toEqual({ '$sleep/s': { until } });
    world.advance(86_399_999);
    node.restartProcess();
    expect(node.poll()).toEqual([]);
    world.advance(1);
    expect(node.poll()[0]).toMatchObject({
      taskId: 'a',
      resumed: true,
      attempt: 1,
      assignedAt: until,
    });
  });

  test('of no time is over at once', () => {
    const { world } = waiting({ sleepMs: 0 });
    expect(world.task('job', 'a')).toMatchObject({ state: 'ready', suspended: 'time' });
  });

  test('ends when it was first said to, however often it is asked for', () => {
    const { world, node } = waiting({ sleepMs: 1_000, signals: ['go'] });
    const until = world.later(1_000);
    world.advance(400);
    world.signal('job', 'go');
    node.wait(node.poll()[0]!, { sleepMs: 600 });
    expect(world.steps('job', 'a')).toMatchObject({ '$sleep/s': { until } });
    expect(world.task('job', 'a').notBefore).toBe(until);
  });

  test('of several the first that is over wakes the task', () => {
    const { world, node, a } = running();
    const sleeps = [
      { step: '$sleep/long', forMs: 9_000 },
      { step: '$sleep/short', forMs: 500 },
    ];
    node.suspend(a, { type: 'wait', sleeps, signals: [], jobs: [] });
    expect(world.task('job', 'a').notBefore).toBe(world.later(500));
  });

  test('goes on under the next leader', () => {
    const { world, node } = waiting({ sleepMs: 1_000 });
    world.restart();
    world.advance(999);
    expect(node.poll()).toEqual([]);
    world.advance(1);
    expect(node.poll()[0]).toMatchObject({ resumed: true });
  });
});

describe('a wait for a signal with a time limit', () => {
  test('ends with the time', () => {
    const { world, node } = waiting({ signals: ['go'], sleepMs: 500 });
    expect(world.task('job', 'a')).toMatchObject({
      state: 'delayed',
      suspended: 'signal',
      waits: '{"signals":[{"step":"$signal/go","name":"go"}],"jobs":[]}',
    });
    world.restart();
    world.advance(500);
    expect(world.task('job', 'a')).toMatchObject({ state: 'ready', waits: null });
    expect(node.poll()[0]).toMatchObject({ resumed: true });
  });

  test('ends with the signal, also under the next leader', () => {
    const { world, node } = waiting({ signals: ['go'], sleepMs: 500 });
    world.restart();
    world.signal('job', 'go', 1);
    expect(world.states('job')).toEqual({ a: 'ready' });
    node.complete(node.poll()[0]!);
    world.advance(500);
    expect(world.job('job').state).toBe('succeeded');
  });
});

describe('a called job', () => {
  test('runs, and its end wakes the caller', () => {
    const { world, node } = waiting({ jobs: { c: child } });
    expect(world.task('job', 'a')).toMatchObject({
      state: 'blocked',
      suspended: 'job',
      waits: '{"signals":[],"jobs":[{"step":"$job/c","jobId":"job.c"}]}',
    });
    node.complete(node.poll(9)[0]!, 'result');
    expect(world.job('job.c').state).toBe('succeeded');
    expect(world.steps('job', 'a')).toEqual({
      '$job/c': { jobId: 'job.c', state: 'succeeded', at: world.now },
    });
    expect(node.poll()[0]).toMatchObject({ taskId: 'a', resumed: true });
  });

  test('is called without its own idempotency key', () => {
    const { world } = waiting({ jobs: { c: { ...child, idempotencyKey: 'k' } } });
    expect(world.job('job.c').idempotencyKey).toBe(null);
  });

  test.each([
    ['failed', 'fatal'],
    ['cancelled', null],
  ] as const)('that has %s wakes the caller too', (state, failure) => {
    const { world, node } = waiting({ jobs: { c: child } });
    if (failure === null) world.cancel('job.c');
    else node.fail(node.poll()[0]!, { failure });
    expect(world.steps('job', 'a')).toEqual({ '$job/c': { jobId: 'job.c', state, at: world.now } });
    expect(world.states('job')).toEqual({ a: 'ready' });
  });

  test('that ends at once finds its caller waiting', () => {
    const { world, node, a } = running();
    world.submit({ name: 'before', tasks: [echo('k', { idempotencyKey: 'k' })] });
    node.complete(node.poll()[0]!, 1);
    node.wait(a, { jobs: { c: { tasks: [echo('x', { idempotencyKey: 'k' })] } } });
    expect(world.job('job.c').state).toBe('succeeded');
    expect(world.states('job')).toEqual({ a: 'ready' });
  });

  test('is found by an attempt that is repeated', () => {
    const { world, node } = waiting({ jobs: { c: child }, signals: ['go'] });
    world.signal('job', 'go');
    const [again] = node.poll(9).filter(({ taskId }) => taskId === 'a');
    node.fail(again!);
    world.advance(1_000);
    const [third] = node.poll(1);
    expect(third).toMatchObject({ taskId: 'a', attempt: 2 });
    node.wait(third!, { jobs: { c: child } });
    expect(world.jobIds()).toEqual(['job', 'job.c']);
    expect(world.states('job')).toEqual({ a: 'blocked' });
  });

  test('that has ended already is there at once', () => {
    const { world, node } = waiting({ jobs: { c: child }, signals: ['go'] });
    const [x] = node.poll(1);
    world.signal('job', 'go');
    const [a] = node.poll(1);
    node.complete(x!);
    // While the task runs, the end is in its books and its steps.
    expect(world.task('job', 'a')).toMatchObject({ state: 'running', waits: null });
    expect(world.steps('job', 'a')).toMatchObject({ '$job/c': { state: 'succeeded' } });
    node.wait(a!, { jobs: { c: child } });
    expect(world.states('job')).toEqual({ a: 'ready' });
    expect(world.jobIds()).toEqual(['job', 'job.c']);
  });

  test('that ends while the store is being asked about it is known to have', () => {
    const { world, node } = waiting({ jobs: { c: child }, signals: ['go'] });
    const [x] = node.poll(1);
    world.signal('job', 'go');
    const [a] = node.poll(1);
    world.state.takeNotes();
    const asked = node.waiting(a!, { jobs: { c: child } });
    node.complete(x!);
    if (asked.type !== 'wait') throw new Error('it waits');
    const stale = { ...asked, jobs: asked.jobs.map((each) => ({ ...each, ended: null })) };
    node.suspend(a!, stale);
    world.state.dropNotes();
    expect(world.states('job')).toEqual({ a: 'ready' });
  });

  test('that ends in the very moment in which its caller goes on counts as later than what the caller went on for', () => {
    const { world, node } = waiting({ jobs: { c: child }, signals: ['go'] });
    const [x] = node.poll(1);
    world.signal('job', 'go');
    const [a] = node.poll(1);
    node.complete(x!);
    const steps = world.steps('job', 'a') as Record<string, { at: number }>;
    expect(steps['$at/signal/go']?.at).toBe(a?.assignedAt);
    expect(steps['$job/c']?.at).toBeGreaterThan(a!.assignedAt);
    expect(steps['$job/c']?.at).toBeLessThan(world.later(1));
  });

  test('that wakes nobody else: a caller that waits for its children goes on doing so', () => {
    const { world, node } = waiting({ jobs: { c: child }, signals: ['go'] });
    const [x] = node.poll(1);
    world.signal('job', 'go');
    node.spawn(node.poll(1)[0]!, [echo('kid')]);
    node.complete(x!);
    expect(world.task('job', 'a')).toMatchObject({ state: 'blocked', suspended: 'children' });
    expect(world.steps('job', 'a')).toMatchObject({ '$job/c': { state: 'succeeded' } });
  });
});

describe('a called job ends with its caller', () => {
  const calls = { jobs: { c: child } };

  test('when the job of the caller is cancelled', () => {
    const { world } = waiting(calls);
    world.cancel('job');
    expect(world.job('job').state).toBe('cancelled');
    expect(world.job('job.c')).toMatchObject({ state: 'cancelled', error: { code: 'cancelled' } });
    expect(world.state.jobs.size).toBe(0);
  });

  test('when the time of the caller is over', () => {
    const { world } = waiting(calls, { timeouts: { totalMs: 5_000 } });
    world.advance(5_000);
    expect(world.job('job').state).toBe('failed');
    expect(world.job('job.c').state).toBe('cancelled');
  });

  test('when it is running already, by order', () => {
    const { world, node } = waiting(calls);
    const [x] = node.poll();
    world.cancel('job');
    expect(world.job('job.c')).toMatchObject({ state: 'running', stopping: 'cancel' });
    node.beat();
    expect(node.orders.abort).toEqual([x!.lease]);
    node.obey();
    expect(world.job('job.c').state).toBe('cancelled');
  });

  test('when the caller goes on without it and completes', () => {
    const { world, node } = waiting({ ...calls, sleepMs: 100 });
    node.poll();
    world.advance(100);
    const [a] = node.poll(1);
    expect(world.task('job', 'a').waits).not.toBe(null);
    world.restart();
    expect(node.complete(a!)).toBe('ok');
    expect(world.job('job').state).toBe('succeeded');
    expect(world.job('job.c').stopping).toBe('cancel');
  });

  test('over many levels', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a')] });
    for (let level = 0; level < 20; level += 1) node.wait(node.poll(1)[0]!, calls);
    world.cancel('job');
    expect(world.jobIds()).toHaveLength(21);
    expect(world.state.jobs.size).toBe(0);
  });

  test('but not with an attempt of its caller', () => {
    const { world, node } = waiting({ ...calls, sleepMs: 100 });
    node.poll();
    world.advance(100);
    node.fail(node.poll(1)[0]!);
    expect(world.job('job.c')).toMatchObject({ state: 'running', stopping: null });
  });
});

describe('a wait that makes no sense fails the task', () => {
  const code = { code: 'bad_wait' };

  test('when it is for nothing', () => {
    const { world } = waiting({});
    expect(world.task('job', 'a')).toMatchObject({ state: 'failed', error: code });
  });

  test('when it is for a job of somebody else', () => {
    const { world, node, a } = running();
    world.submit({ name: 'other', tasks: [echo('x')] });
    const asked = node.waiting(a, { jobs: { c: child } });
    if (asked.type !== 'wait') throw new Error('it waits');
    const jobs = asked.jobs.map((each) => ({ ...each, jobId: 'other' as JobId }));
    node.suspend(a, { ...asked, jobs });
    expect(world.task('job', 'a')).toMatchObject({ state: 'failed', error: code });
    expect(world.job('other').state).toBe('queued');
  });

  test('when the called job would wait for the key of its caller, at any distance', () => {
    const { world, node, a } = running({ idempotencyKey: 'k' });
    node.wait(a, { jobs: { c: child } });
    const [x] = node.poll(1);
    node.wait(x!, { jobs: { d: { tasks: [echo('y', { idempotencyKey: 'k' })] } } });
    expect(world.task('job.c', 'x')).toMatchObject({ state: 'failed', error: code });
    expect(world.states('job')).toEqual({ a: 'ready' });
  });
});

describe('a suspension under an order to stop', () => {
  test('ends as cancelled', () => {
    const { world, node, a } = running();
    world.cancel('job');
    node.wait(a, { jobs: { c: child } });
    expect(world.job('job').state).toBe('cancelled');
    expect(world.jobIds()).toEqual(['job']);
  });
});

describe('a task whose condition does not hold', () => {
  test('is skipped, and so is what needs it', () => {
    const world = new Harness();
    const node = world.node('w1');
    const needs = { dependsOn: ['a'] };
    const may = { dependsOn: [{ id: 'a', required: false }] };
    world.submit({ name: 'job', tasks: [echo('a'), echo('b', needs), echo('c', may)] });
    expect(node.skip(node.poll(1)[0]!, 'too small')).toBe('ok');
    expect(world.states('job')).toEqual({ a: 'skipped', b: 'skipped', c: 'ready' });
    expect(world.log().find(({ kind }) => kind === 'skipped')?.detail).toBe(
      '{"reason":"too small"}',
    );
    node.complete(node.poll(1)[0]!);
    expect(world.job('job').state).toBe('succeeded');
  });

  test('is cancelled if that was ordered before', () => {
    const { world, node, a } = running();
    world.cancel('job');
    node.skip(a);
    expect(world.task('job', 'a').state).toBe('cancelled');
  });

  test('is judged again when it runs again', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'job', tasks: [echo('a'), echo('b')] });
    const [a, b] = node.poll(2);
    node.skip(a!);
    node.fail(b!, { failure: 'fatal' });
    world.rerun('job');
    expect(world.states('job')).toEqual({ a: 'ready', b: 'ready' });
  });
});
