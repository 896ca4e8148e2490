import { expect, test } from 'vitest';
import { type Batch, batchOf } from '../core/index.ts';
import { checkUnique } from './batch-checks.ts';

/** Only what the checks look at. */
function batchWith(
  tasks: readonly (readonly [jobNo: number, taskNo: number, id: string])[],
): Batch {
  const specInserts = tasks.map(([jobNo, taskNo, id]) => ({ jobNo, taskNo, id }));
  const rows = { specInserts, taskInserts: specInserts } as unknown as Partial<Batch>;
  return batchOf({ ...rows, commitNo: 1, lastSeq: 0, nextJobNo: 9 as Batch['nextJobNo'] });
}

test('tasks of one job have ids of their own, wherever they stand', () => {
  const one = [1, 0, 'a'] as const;
  const other = [2, 0, 'a'] as const;
  expect(() => checkUnique(batchWith([one, other, [2, 1, 'b'], [1, 1, 'b']]))).not.toThrow();
  expect(() => checkUnique(batchWith([one, [1, 1, 'a']]))).toThrow('task id 1/a');
  expect(() => checkUnique(batchWith([one, other, [1, 1, 'a']]))).toThrow('task id 1/a');
  expect(() => checkUnique(batchWith([one, [2, 1, 'b'], [1, 1, 'c'], [2, 2, 'b']]))).toThrow(
    'task id 2/b',
  );
});

test('counted ids rise, and one that comes again does not', () => {
  const counted = (ids: readonly string[]) =>
    batchWith(ids.map((id, taskNo) => [1, taskNo, id] as const));
  expect(() => checkUnique(counted(['t8', 't9', 't10', 't11']))).not.toThrow();
  expect(() => checkUnique(counted(['t10', 't9', 't11', 't8']))).not.toThrow();
  expect(() => checkUnique(counted(['t9', 't10', 't10']))).toThrow('task id 1/t10');
  expect(() => checkUnique(counted(['t9', 't10', 't9']))).toThrow('task id 1/t9');
  const rising = [[1, 0, 'a'] as const, [2, 0, 'a'] as const, [2, 1, 'a'] as const];
  expect(() => checkUnique(batchWith(rising))).toThrow('task id 2/a');
});

test('each task comes once, and with its spec', () => {
  const batch = (specs: readonly number[], tasks: readonly number[]): Batch => {
    const rows = (nos: readonly number[]) =>
      nos.map((taskNo) => [1, taskNo, `t${taskNo}`] as const);
    return { ...batchWith(rows(specs)), taskInserts: batchWith(rows(tasks)).taskInserts };
  };
  expect(() => checkUnique(batch([0, 1, 2], [2, 0, 1]))).not.toThrow();
  expect(() => checkUnique(batch([0, 1, 2], [0, 1, 1]))).toThrow('it came twice');
  expect(() => checkUnique(batch([0, 1, 2], [0, 1, 3]))).toThrow('task 1/3: it has no spec');
});
