import { expect, test } from 'vitest';
import { Harness, echo } from '../../../../test/rig/harness.ts';
import { instant } from '../index.ts';
import type { JobId, ReplyBody } from '../index.ts';

const HOUR = 3_600_000;

const set = (world: Harness, job: string, runAt: number | null): ReplyBody =>
  world.ask({
    type: 'reschedule',
    jobId: job as JobId,
    runAt: runAt === null ? null : instant(runAt),
  });

const delayed = (world: Harness, fields: object = {}): void =>
  void world.submit({
    name: 'job',
    runAt: world.later(HOUR),
    tasks: [echo('a'), echo('b', { dependsOn: ['a'] })],
    ...fields,
  });

let nodes = 0;
const polled = (world: Harness): string[] => {
  nodes += 1;
  const node = world.node(`w${nodes}`);
  return node.poll(9).map(({ taskId }) => taskId);
};

test('a job starts now, and once', () => {
  const world = new Harness();
  delayed(world);
  expect(polled(world)).toEqual([]);
  expect(set(world, 'job', null)).toMatchObject({ type: 'job', changed: true });
  expect(set(world, 'job', null)).toMatchObject({
    changed: false,
    why: 'It does not wait for a time.',
  });
  expect(polled(world)).toEqual(['a']);
  expect(set(world, 'job', null)).toMatchObject({ changed: false, why: 'It has begun.' });
});

test('a job that is put off does not start at its old time, also under a new leader', () => {
  const world = new Harness();
  delayed(world);
  expect(set(world, 'job', world.later(3 * HOUR))).toMatchObject({ changed: true });
  world.advance(HOUR);
  expect(polled(world)).toEqual([]);
  world.restart();
  world.advance(HOUR);
  expect(polled(world)).toEqual([]);
  world.advance(HOUR);
  expect(polled(world)).toEqual(['a']);
});

test('a job that is brought forward starts then, also under a new leader', () => {
  const world = new Harness();
  delayed(world);
  set(world, 'job', world.later(HOUR / 2));
  world.restart();
  world.advance(HOUR / 2 - 1);
  expect(polled(world)).toEqual([]);
  world.advance(1);
  expect(polled(world)).toEqual(['a']);
});

test('one that starts now and waits for its key is stored as waiting', () => {
  const world = new Harness();
  const keyed = { tasks: [echo('a', { idempotencyKey: 'k' })] };
  world.submit({ name: 'first', ...keyed });
  expect(polled(world)).toEqual(['a']);
  delayed(world, keyed);
  // The harness compares the rows with the state after each step.
  expect(set(world, 'job', null)).toMatchObject({ changed: true });
  world.restart();
  expect(polled(world)).toEqual([]);
});

test('a time that has passed means now', () => {
  const world = new Harness();
  delayed(world);
  expect(set(world, 'job', world.now - HOUR)).toMatchObject({ changed: true });
  expect(polled(world)).toEqual(['a']);
});

test('total timeouts count from the new time', () => {
  const world = new Harness();
  const totals = { timeouts: { totalMs: 60_000 } };
  delayed(world, { ...totals, tasks: [echo('a', totals)] });
  set(world, 'job', world.later(2 * HOUR));
  world.advance(HOUR + 120_000);
  expect(world.job('job')).toMatchObject({ state: 'queued' });
  world.advance(HOUR - 120_000);
  world.advance(59_999);
  expect(world.job('job')).toMatchObject({ state: 'queued' });
  world.advance(1);
  expect(world.job('job')).toMatchObject({ state: 'failed', error: { code: 'timeout' } });
});

test('the change is in the log and in the options; what cannot be changed says why', () => {
  const world = new Harness();
  delayed(world);
  const before = world.later(HOUR);
  const at = world.later(2 * HOUR);
  expect(set(world, 'job', before)).toMatchObject({
    changed: false,
    why: 'It starts at that time already.',
  });
  set(world, 'job', at);
  expect(world.log().filter(({ kind }) => kind === 'job.rescheduled')).toMatchObject([
    { detail: `{"runAt":"${iso(at)}","before":"${iso(before)}"}` },
  ]);
  expect(JSON.parse(world.job('job')?.options ?? '{}')).toEqual({ runAt: at });
  expect(world.job('job')?.runAt).toBe(before);
  world.cancel('job');
  expect(set(world, 'job', null)).toMatchObject({ type: 'refused', error: { code: 'not_found' } });
  world.submit({ name: 'plain', tasks: [echo('a')] });
  expect(set(world, 'plain', at)).toMatchObject({ changed: false });
});

test('a batch closes when its first job starts now, and takes what had joined with it', () => {
  const world = new Harness();
  const batched = (name: string): void =>
    void world.submit({
      name,
      batch: { key: 'k', max: 9, ms: HOUR },
      tasks: [echo('a', { input: [1] })],
    });
  batched('one');
  batched('two');
  expect(set(world, 'two', null)).toMatchObject({ changed: false });
  expect(set(world, 'one', null)).toMatchObject({ changed: true });
  batched('three');
  const node = world.node('w');
  const tasks = node.poll(9);
  expect(tasks.map(({ jobId }) => jobId)).toEqual(['one']);
  node.complete(tasks[0]!);
  expect(world.job('two')).toMatchObject({ state: 'succeeded' });
  expect(world.job('three')).toMatchObject({ state: 'queued' });
});

const iso = (at: number): string => new Date(at).toISOString();
