import { describe, expect, test } from 'vitest';
import { Harness, echo, echoes } from '../../../../test/rig/harness.ts';
import type { JobId } from '../index.ts';

describe('submit', () => {
  test('stores the job, its tasks and their first events in one batch', () => {
    const world = new Harness();
    const batches: number[] = [];
    world.onCommit = (batch) => batches.push(batch.taskInserts.length);
    world.submit({ name: 'job', tasks: echoes(100) });
    expect(batches).toEqual([100]);
    expect(world.job('job')).toMatchObject({ state: 'queued', run: 1, taskCount: 100 });
  });

  test('twice with the same key returns the first job, live or finished', () => {
    const world = new Harness();
    const node = world.node('w1');
    const document = { idempotencyKey: 'once', tasks: [echo('a')] };
    const first = world.submit({ ...document, name: 'first' });
    expect(first).toMatchObject({ jobId: 'first', changed: true });
    expect(world.submit({ ...document, name: 'second' })).toMatchObject({
      jobId: 'first',
      changed: false,
    });
    node.complete(node.poll()[0]!);
    expect(world.submit({ ...document, name: 'third' })).toMatchObject({
      jobId: 'first',
      state: 'succeeded',
      changed: false,
    });
    expect(world.jobIds()).toEqual(['first']);
  });

  test('twice with the same id returns the first job', () => {
    const world = new Harness();
    world.submit({ name: 'job', tasks: [echo('a')] });
    const again = world.submit({ name: 'job', tasks: [echo('b')] });
    expect(again).toMatchObject({ jobId: 'job', changed: false });
    expect(world.states('job')).toEqual({ a: 'ready' });
  });

  test('remembers the key of a live job over a restart', () => {
    const world = new Harness();
    world.submit({ name: 'one', idempotencyKey: 'once', tasks: [echo('a')] });
    world.restart();
    const again = world.submit({ name: 'two', idempotencyKey: 'once', tasks: [echo('a')] });
    expect(again).toMatchObject({ jobId: 'one', changed: false });
  });

  test('of an inbox row deletes the row, also when the job is there already', () => {
    const world = new Harness();
    world.submit({ name: 'job', tasks: [echo('a')] }, { inboxNo: 7 });
    world.submit({ name: 'job', tasks: [echo('a')] }, { inboxNo: 8 });
    expect([...world.rows.inboxDeletes]).toEqual([7, 8]);
  });

  test('a slot that is used again starts from nothing', () => {
    const world = new Harness();
    const node = world.node('w1');
    world.submit({ name: 'one', tasks: [echo('a')] });
    node.fail(node.poll()[0]!);
    world.advance(1_000);
    node.fail(node.poll()[0]!, { failure: 'fatal' });
    world.submit({ name: 'two', tasks: [echo('b')] });
    expect(world.task('two', 'b')).toMatchObject({
      run: 1,
      attempt: 0,
      failures: 0,
      losses: 0,
      fence: 0,
      term: null,
      error: null,
      startedAt: null,
    });
  });
});

describe('a fork', () => {
  const tasks = [
    echo('a'),
    echo('b', { dependsOn: ['a'] }),
    echo('c', { dependsOn: ['b'] }),
    echo('d', { dependsOn: ['a'] }),
  ];

  test('takes over results and goes on from there', () => {
    const world = new Harness();
    const node = world.node('w1');
    const seeds = {
      a: { state: 'succeeded', result: '1' },
      b: { state: 'succeeded', result: null },
    } as const;
    world.submit({ name: 'fork', tasks }, { seeds });
    expect(world.states('fork')).toEqual({
      a: 'succeeded',
      b: 'succeeded',
      c: 'ready',
      d: 'ready',
    });
    expect(world.task('fork', 'a').result).toBe(1);
    expect(world.history('fork', 'a')).toEqual(['created', 'completed']);
    for (const task of node.poll(9)) node.complete(task);
    expect(world.job('fork').state).toBe('succeeded');
  });

  test('of which everything is taken over has succeeded at once', () => {
    const world = new Harness();
    const seeds = { a: { state: 'succeeded', result: '1' } } as const;
    const reply = world.submit({ name: 'fork', tasks: [echo('a')] }, { seeds });
    expect(reply).toMatchObject({ state: 'succeeded', changed: true });
  });

  test('that takes over a failure skips what waits for it', () => {
    const world = new Harness();
    const seeds = { a: { state: 'failed', result: null } } as const;
    world.submit({ name: 'fork', tasks: tasks.slice(0, 2) }, { seeds });
    expect(world.states('fork')).toEqual({ a: 'failed', b: 'skipped' });
    expect(world.job('fork').state).toBe('failed');
  });

  test('survives a restart like any job', () => {
    const world = new Harness();
    const node = world.node('w1');
    const seeds = { a: { state: 'succeeded', result: '1' } } as const;
    world.submit({ name: 'fork', tasks }, { seeds });
    world.restart();
    expect(node.poll(9).map(({ taskId }) => taskId)).toEqual(['b', 'd']);
  });
});

test('an inbox document that is not valid becomes a failed job that says why', () => {
  const world = new Harness();
  const error = { code: 'bad_input', message: '/tasks: The list is empty.' };
  const jobId = 'bad' as JobId;
  const reply = world.ask({ type: 'reject', jobId, name: 'inbox', error, inboxNo: 3 });
  expect(reply).toMatchObject({ type: 'job', jobId: 'bad', state: 'failed', changed: true });
  expect(world.job('bad')).toMatchObject({ state: 'failed', taskCount: 0, error });
  expect([...world.rows.inboxDeletes]).toEqual([3]);
  expect(world.log().map(({ kind }) => kind)).toEqual(['job.created', 'job.failed']);
});
