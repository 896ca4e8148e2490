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
