/** Which tasks go into the row of their job, and when they leave it again. */
import { expect, test } from 'vitest';
import {
  AT,
  aJob,
  aSpec,
  aTask,
  running,
  succeeded,
} from '../../../../test/rig/conformance/rows.ts';
import { type Batch, batchOf, instant, jobNo, taskNo } from '../../core/index.ts';
import { tableRows, type TableRows } from './table-rows.ts';

function rowsOf(lists: Partial<Batch>, history: Batch['taskInserts'] = []): TableRows {
  const batch = batchOf({ commitNo: 1, lastSeq: 0, nextJobNo: jobNo(9), ...lists });
  return tableRows({ batch, history });
}

const ENDED = { state: 'succeeded', finishedAt: AT } as const;
const result = (no: number, body = '1', run = 1) => ({
  ...{ jobNo: jobNo(no), taskNo: taskNo(0), run, body },
});

test('a new job of one task is one row', () => {
  const [job, spec] = [aJob(1, ENDED), aSpec(1, 0, { input: '{}' })];
  const task = succeeded(1, 0, { finishedAt: AT });
  const rows = rowsOf({
    ...{ jobInserts: [job], specInserts: [spec], taskInserts: [task], results: [result(1, '2')] },
  });
  expect(rows.jobInserts).toMatchObject([{ job, spec, task, result: '2' }]);
  const { specInserts, taskInserts, taskUpdates, results, spread } = rows;
  expect([specInserts, taskInserts, taskUpdates, results, spread]).toEqual([[], [], [], [], []]);
});

test('an update of a job carries its only task', () => {
  const [job, task] = [aJob(1, ENDED), succeeded(1, 0, { finishedAt: AT })];
  const rows = rowsOf({ jobUpdates: [job], taskUpdates: [task], results: [result(1)] });
  expect(rows.jobUpdates).toMatchObject([{ job, spec: null, task, result: '1' }]);
  expect([rows.taskUpdates, rows.results, rows.spread]).toEqual([[], [], []]);
});

test('a long result is apart from the row', () => {
  const body = JSON.stringify('x'.repeat(2_000));
  const task = succeeded(1, 0, { finishedAt: AT });
  const rows = rowsOf({
    ...{ jobUpdates: [aJob(1, ENDED)], taskUpdates: [task], results: [result(1, body)] },
  });
  expect(rows.jobUpdates).toMatchObject([{ task, result: null }]);
  expect(rows.results).toHaveLength(1);
});

const ONE = { jobInserts: [aJob(1)], specInserts: [aSpec(1, 0)], taskInserts: [aTask(1, 0)] };

test.each<[string, Partial<Batch>]>([
  [
    'two tasks',
    { specInserts: [aSpec(1, 0), aSpec(1, 1)], taskInserts: [aTask(1, 0), aTask(1, 1)] },
  ],
  ['a number that says so', { jobInserts: [aJob(1, { taskCount: 2 })] }],
  ['another number', { specInserts: [aSpec(1, 1)], taskInserts: [aTask(1, 1)] }],
  ['a key', { specInserts: [aSpec(1, 0, { idempotencyKey: 'k' })] }],
  ['a long input', { specInserts: [aSpec(1, 0, { input: `"${'x'.repeat(2_000)}"` })] }],
  ['a parent', { specInserts: [aSpec(1, 0, { parentNo: taskNo(3) })] }],
  ['a dependency', { specInserts: [aSpec(1, 0, { dependsOn: [3] })] }],
  ['a second run', { taskInserts: [aTask(1, 0, { run: 2 })] }],
  ['a second run of the job', { jobInserts: [aJob(1, { run: 2 })] }],
  ['an end of its own', { taskInserts: [succeeded(1, 0)] }],
  ['no spec', { specInserts: [] }],
])('a new job with %s is in the tables', (_, lists) => {
  const batch = { ...ONE, ...lists };
  const rows = rowsOf(batch);
  expect(rows.jobInserts).toMatchObject([{ spec: null, task: null, result: null }]);
  expect(rows.specInserts).toEqual(batch.specInserts);
  expect(rows.taskInserts).toEqual(batch.taskInserts);
  expect(rows.spread).toEqual([]);
});

test.each<[string, Partial<Batch>]>([
  ['gets company', { specInserts: [aSpec(1, 1)], taskInserts: [aTask(1, 1)] }],
  ['is archived', { archived: [{ jobNo: jobNo(1), taskNo: taskNo(0) }] }],
  ['runs again', { taskUpdates: [aTask(1, 0, { run: 2 })] }],
  ['is of a job that runs again', { jobUpdates: [aJob(1, { run: 2 })] }],
  ['ends before its job', { taskUpdates: [succeeded(1, 0)] }],
  [
    'ends at another time than its job',
    {
      jobUpdates: [aJob(1, ENDED)],
      taskUpdates: [succeeded(1, 0, { finishedAt: instant(AT + 5) })],
    },
  ],
  ['is of a job that ends alone', { jobUpdates: [aJob(1, ENDED)] }],
])('a stored task that %s leaves the row of its job', (_, lists) => {
  const rows = rowsOf(lists);
  expect(rows.spread).toEqual([1]);
  expect(rows.taskUpdates).toEqual(lists.taskUpdates ?? []);
});

test('a stored task that goes on stays where it is', () => {
  const rows = rowsOf({ taskUpdates: [running(1, 0), running(2, 7, { run: 3 })] });
  expect(rows.spread).toEqual([]);
  expect(rows.taskUpdates).toHaveLength(2);
});

test('ended runs keep a task out of the row', () => {
  const rows = rowsOf({ ...ONE, taskInserts: [aTask(1, 0)] }, [aTask(1, 0)]);
  expect(rows.jobInserts).toMatchObject([{ task: null }]);
  expect(rows.taskInserts).toHaveLength(1);
});
