import { expect, test } from 'vitest';
import type { StageGrouping } from '../../../src/scheduler/contract/index.ts';
import { groupingWords } from './grouping.ts';

const grouping: StageGrouping = {
  ...{ partitions: 16, tasks: 2, rows: 400, bytes: 9, targetBytes: 64, slots: 4 },
  skewed: [],
};
const words = (parts: Partial<StageGrouping> | null): string | null =>
  groupingWords(parts === null ? null : { ...grouping, ...parts }, (value) => `${value} B`, String);

test('partitions that share tasks are said with what it was decided by', () => {
  expect(words({})).toBe(
    'Adapted: 2 tasks read 16 partitions, because all of them are 9 B; the aim is 64 B a task, on 4 slots.',
  );
  expect(words({ tasks: 1, slots: 1 })).toBe(
    'Adapted: 1 task reads 16 partitions, because all of them are 9 B; the aim is 64 B a task, on 1 slot.',
  );
});

test('a large partition that several tasks read is said before anything else', () => {
  const large = { partition: 3, rows: 7, bytes: 80, times: 8, tasks: 2, stage: 1 };
  expect(words({ tasks: 16, skewed: [large, { ...large, partition: 5, tasks: 1 }] })).toBe(
    'Adapted: partition 3 (7 rows, 80 B) is split among 2 tasks, because it is much larger than the others.',
  );
});

test('a stage that runs as planned has nothing to say', () => {
  expect([words(null), words({ tasks: 16 })]).toEqual([null, null]);
});
