import { expect, test } from 'vitest';
import { Effects, instant, jobNo, taskNo } from './index.ts';
import type { TaskRow } from './index.ts';

const REF = { jobNo: jobNo(1), taskNo: taskNo(0) };
const COUNTERS = { lastSeq: 0, nextJobNo: jobNo(2) };

const row = (changed: Partial<TaskRow> = {}): TaskRow => ({
  jobNo: jobNo(1),
  taskNo: taskNo(0),
  state: 'ready',
  run: 1,
  attempt: 0,
  failures: 0,
  losses: 0,
  fence: 0,
  term: null,
  nodeId: null,
  sessionId: null,
  stopping: null,
  suspended: null,
  waits: null,
  notBefore: null,
  progress: 0,
  error: null,
  queuedAt: null,
  startedAt: null,
  finishedAt: null,
  ...changed,
});

test('effects without rows are empty, whatever is answered', () => {
  const effects = new Effects();
  expect(effects.isEmpty).toBe(true);
  effects.reply(1 as never, { type: 'node', nodeId: 'w1' as never });
  expect(effects.isEmpty).toBe(true);
  expect(effects.hasReplies).toBe(true);
  expect(effects.takeReplies()).toHaveLength(1);
  expect(effects.hasReplies).toBe(false);
});

test.each([
  ['result', (effects: Effects) => effects.result({ ...REF, run: 1, body: '1' })],
  ['copied result', (effects: Effects) => effects.copyResult({ ...REF, run: 1, scope: 'echo/k' })],
  ['archived run', (effects: Effects) => effects.archive(REF)],
])('a %s is written, and never without the row of its task', (_name, add) => {
  const effects = new Effects();
  add(effects);
  expect(effects.isEmpty).toBe(false);
  expect(() => effects.check(COUNTERS)).toThrow('without the row of task 1/0');
  effects.task(row());
  effects.check(COUNTERS);
});

test('the log has no gap, and ends where its counter stands', () => {
  const event = { at: instant(1), kind: 'queued', detail: null } as never;
  const effects = new Effects();
  effects.event({ ...(event as object), seq: 5 } as never);
  effects.event({ ...(event as object), seq: 6 } as never);
  effects.check({ ...COUNTERS, lastSeq: 6 });
  expect(() => effects.check({ ...COUNTERS, lastSeq: 7 })).toThrow('event 5 stands where 6 is due');
});

test('a task is not inserted without its spec, nor a job without a number', () => {
  const effects = new Effects();
  effects.insertJob({ no: jobNo(2) } as never);
  expect(() => effects.check(COUNTERS)).toThrow('job 2 was not numbered');
  effects.check({ ...COUNTERS, nextJobNo: jobNo(3) });
  effects.insertTask(REF as never);
  effects.insertTask(REF as never);
  expect(() => effects.check({ ...COUNTERS, nextJobNo: jobNo(3) })).toThrow('2 new specs for 1');
});

test('a row that changes twice is written once, as it is last', () => {
  const effects = new Effects();
  effects.task(row());
  effects.task(row({ state: 'running', sessionId: 's' as never }));
  expect(effects.batch({ commitNo: 0, lastSeq: 0, nextJobNo: jobNo(1) }).taskUpdates).toMatchObject(
    [{ state: 'running' }],
  );
});

test('a row that changes in the batch that inserts it is inserted as it is last', () => {
  const effects = new Effects();
  const spec = { jobNo: jobNo(1), taskNo: taskNo(0) } as never;
  effects.insertTask(spec);
  expect(effects.lacksRow(jobNo(1), taskNo(0))).toBe(true);
  expect(() => effects.check({ lastSeq: 0, nextJobNo: jobNo(2) })).toThrow('has no row');
  effects.task(row({ state: 'blocked' }));
  effects.task(row({ state: 'ready' }));
  expect(effects.lacksRow(jobNo(1), taskNo(0))).toBe(false);
  const batch = effects.batch({ commitNo: 0, lastSeq: 0, nextJobNo: jobNo(2) });
  expect(batch.taskInserts).toMatchObject([{ state: 'ready' }]);
  expect(batch.taskUpdates).toEqual([]);
  expect(effects.touches({ jobNo: jobNo(1), taskNo: taskNo(0) })).toBe(true);
  expect(effects.touches({ jobNo: jobNo(1), taskNo: taskNo(1) })).toBe(false);
});

test('the first step of a name stays, as it does in the store', () => {
  const effects = new Effects();
  const step = { jobNo: jobNo(1), taskNo: taskNo(0), run: 1, name: 'fetch' };
  effects.step({ ...step, body: '1' });
  effects.step({ ...step, body: '2' });
  effects.step({ ...step, run: 2, body: '3' });
  expect(
    effects.batch({ commitNo: 0, lastSeq: 0, nextJobNo: jobNo(1) }).steps.map(({ body }) => body),
  ).toEqual(['1', '3']);
});

test('what is deleted and written again in one batch is written', () => {
  const effects = new Effects();
  const key = {
    scope: 'echo/k',
    state: 'pending',
    jobNo: jobNo(1),
    taskNo: taskNo(0),
    result: null,
    updatedAt: instant(1),
  } as const;
  effects.key('echo/k', null);
  effects.key('echo/k', key);
  effects.key('echo/l', null);
  expect(effects.batch({ commitNo: 0, lastSeq: 0, nextJobNo: jobNo(1) })).toMatchObject({
    keyUpserts: [key],
    keyDeletes: ['echo/l'],
  });
});
