import { expect, test } from 'vitest';
import type { DatedJob } from '../../client/index.ts';
import type { EventShape, TaskShape } from '../../scheduler/contract/index.ts';
import { graphOrder } from './graph-order.ts';
import { JobProgress } from './job-progress.ts';

const AT = '2026-11-15T06:00:00.000Z';

function task(id: string, more: Partial<TaskShape> | Record<string, unknown> = {}): TaskShape {
  const blank = { run: 1, attempt: 0, node: null, executor: 'echo', dependsOn: [], parent: null };
  const rest = { progress: 0, result: null, error: null, waiting: null };
  const times = { queuedAt: null, startedAt: null, finishedAt: null };
  return { id, state: 'blocked', ...blank, ...rest, ...times, ...more } as unknown as TaskShape;
}

function job(tasks: readonly TaskShape[], seq = 10): DatedJob {
  const head = { id: 'j', name: 'n', state: 'running', createdAt: AT, finishedAt: null };
  return { ...head, tasks, asOf: { seq, at: AT } } as unknown as DatedJob;
}

let seq = 10;
function event(kind: string, id: string | null, more: object = {}): EventShape {
  seq += 1;
  const blank = { at: AT, job: 'j', node: null, run: 1, attempt: null, fence: null, detail: null };
  return { seq, kind, ...blank, task: id, ...more } as unknown as EventShape;
}

const one = (progress: JobProgress) => progress.picture.tasks[0];

test('events move a task through its life', () => {
  const progress = new JobProgress(job([task('a', { waiting: 'waits' })], 10));
  const tell = (kind: string, more: object = {}): void => {
    expect(progress.take(event(kind, 'a', more))).toBe(true);
  };
  tell('queued');
  expect(one(progress)).toMatchObject({ state: 'ready', waiting: null });
  tell('assigned', { node: 'w-1', attempt: 1 });
  tell('started', { node: 'w-1', attempt: 1 });
  tell('progress', { node: 'w-1', detail: { fraction: 0.5, note: 'half' } });
  expect(one(progress)).toMatchObject({
    ...{ state: 'running', node: 'w-1', attempt: 1, progress: 0.5, note: 'half' },
    startedMs: Date.parse(AT),
  });
  tell('retried', { node: 'w-1', detail: { code: 'error', message: 'no' } });
  expect(one(progress)).toMatchObject({ state: 'delayed', node: null, error: 'error: no' });
  tell('queued');
  tell('assigned', { node: 'w-2', attempt: 2 });
  expect(one(progress)).toMatchObject({ attempt: 2, progress: 0, note: null, error: null });
  tell('completed', { node: 'w-2' });
  expect(one(progress)).toMatchObject({
    state: 'succeeded',
    node: 'w-2',
    finishedMs: Date.parse(AT),
  });
  expect(progress.wantsLook).toBe(false);
  progress.take(event('job.succeeded', null));
  expect(progress.picture).toMatchObject({ state: 'succeeded', finishedMs: Date.parse(AT) });
});

test('what is known already, by a look or an event, changes nothing', () => {
  const progress = new JobProgress(job([task('a', { state: 'running' })], 1_000));
  expect(progress.take(event('queued', 'a'))).toBe(false);
  progress.look(job([task('a', { state: 'ready' })], 999));
  expect(one(progress)?.state).toBe('running');
});

test('only a look shows tasks that were added, and what a suspended one waits for', () => {
  const progress = new JobProgress(job([task('a', { state: 'running' })], 0));
  expect(progress.wantsLook).toBe(false);
  progress.take(event('created', 'a.0'));
  expect(progress.wantsLook).toBe(true);
  progress.take(event('suspended', 'a'));
  progress.look(
    job([task('a.0', { parent: 'a' }), task('a', { waiting: 'waits for signal go' })], seq),
  );
  expect(progress.picture.tasks).toMatchObject([
    { id: 'a', depth: 0, waiting: 'waits for signal go' },
    { id: 'a.0', depth: 1 },
  ]);
});

test('each task stands behind what it depends on, and children behind their parent', () => {
  const order = graphOrder([
    task('sum', { dependsOn: ['b', 'a'] }),
    task('a.1', { parent: 'a' }),
    task('b', { dependsOn: ['a'] }),
    task('a', {}),
    task('a.2', { parent: 'a', dependsOn: ['a.1'] }),
    task('a.1.x', { parent: 'a.1' }),
  ]);
  expect(order.map(({ task, depth }) => `${'>'.repeat(depth)}${task.id}`)).toEqual([
    'a',
    '>a.1',
    '>>a.1.x',
    '>a.2',
    'b',
    'sum',
  ]);
});

test('a chain of a hundred thousand tasks is put in order', () => {
  const chain = Array.from({ length: 100_000 }, (_, at) =>
    task(`t${at}`, { dependsOn: at === 99_999 ? [] : [`t${at + 1}`] }),
  );
  expect(graphOrder(chain)[0]?.task.id).toBe('t99999');
});
