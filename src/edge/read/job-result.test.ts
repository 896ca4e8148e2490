import { describe, expect, test } from 'vitest';
import { taskNo } from '../../scheduler/core/index.ts';
import type { JobRow, TaskRow, TaskSpecRow } from '../../scheduler/core/index.ts';
import type { JobView, TaskView } from '../../scheduler/store/index.ts';
import { AT, aJob, aSpec, succeeded } from '../../../test/rig/conformance/rows.ts';
import { jobResult } from './job-result.ts';

const DONE: Partial<JobRow> = { state: 'succeeded', finishedAt: AT };
const MUCH = 1_000;

function task(
  no: number,
  result: string | null,
  spec: Partial<TaskSpecRow> = {},
  row: Partial<TaskRow> = {},
): TaskView {
  return { spec: aSpec(1, no, spec), task: succeeded(1, no, row), result };
}

function view(tasks: readonly TaskView[], job: Partial<JobRow> = {}): JobView {
  return { job: aJob(1, { ...DONE, ...job }), tasks, history: [] };
}

describe('the result of a job', () => {
  test('is that of the only task without dependents, optional ones included', () => {
    const tasks = [
      task(0, '1'),
      task(1, '2', { dependsOn: [0] }),
      task(2, '[3]', { dependsOn: [~1] }),
      task(3, '4', { parentNo: taskNo(2) }),
    ];
    expect(jobResult(view(tasks), MUCH)).toEqual({ result: [3] });
  });

  test('is an object by id when there are several such tasks', () => {
    const tasks = [task(0, '1'), task(1, null), task(2, '{}', { dependsOn: [0] })];
    expect(jobResult(view(tasks), MUCH)).toEqual({ result: { 'task-1': null, 'task-2': {} } });
  });

  test('is what the output names, with null for a task without a result', () => {
    const output =
      '{"all":{"$from":"task-0"},"part":{"$from":"task-0","path":"/a"},"no":{"$from":"task-1"}}';
    const skipped = task(1, null, {}, { state: 'skipped' });
    expect(jobResult(view([task(0, '{"a":[1]}'), skipped], { output }), MUCH)).toEqual({
      result: { all: { a: [1] }, part: [1], no: null },
    });
  });

  test.each(['queued', 'running', 'failed', 'cancelled'] as const)('is null when %s', (state) => {
    const output = '"said too soon"';
    expect(jobResult(view([task(0, '1')], { state, output }), MUCH)).toEqual({ result: null });
  });
});

describe('the result of a job that is too large', () => {
  const omitted = { result: null, isResultOmitted: true };

  test('is left out, and says so', () => {
    const tasks = [task(0, '"1234"'), task(1, '"1234"')];
    expect(jobResult(view(tasks), 11)).toEqual(omitted);
    expect(jobResult(view(tasks), 12)).toEqual({
      result: { 'task-0': '1234', 'task-1': '1234' },
    });
  });

  test('includes an output that repeats a large result', () => {
    const output = JSON.stringify(Array.from({ length: 5 }, () => ({ $from: 'task-0' })));
    const tasks = [task(0, JSON.stringify('x'.repeat(98)))];
    expect(jobResult(view(tasks, { output }), 499)).toEqual(omitted);
    expect(jobResult(view(tasks, { output }), 500).result).toHaveLength(5);
  });

  test('does not count results that are not part of it', () => {
    const many = Array.from({ length: 100 }, (_, no) => task(no, '"0123456789"'));
    const last = task(100, '"small"', { dependsOn: many.map((_, no) => no) });
    expect(jobResult(view([...many, last]), 20)).toEqual({ result: 'small' });
    const output = '{"$from":"task-7"}';
    expect(jobResult(view([...many, last], { output }), 20)).toEqual({ result: '0123456789' });
  });
});
