import { expect, test } from 'vitest';
import { Effects, instant, jobNo, taskNo } from './index.ts';
import type { TaskRow } from './index.ts';

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
  effects.insertTask(spec, row({ state: 'blocked' }));
  effects.task(row({ state: 'ready' }));
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
