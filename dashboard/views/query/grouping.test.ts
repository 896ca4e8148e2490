import { expect, test } from 'vitest';
import { groupingWords } from './grouping.ts';

const grouping = { partitions: 16, tasks: 2, rows: 400, bytes: 9, targetBytes: 64, slots: 4 };
const words = (parts: Partial<typeof grouping> | null): string | null =>
  groupingWords(parts === null ? null : { ...grouping, ...parts }, (value) => `${value} B`, String);

test('partitions that share tasks are said with what it was decided by', () => {
  expect(words({})).toBe(
    'Adapted: 2 tasks read 16 partitions, because all of them are 9 B; the aim is 64 B a task, on 4 slots.',
  );
  expect(words({ tasks: 1, slots: 1 })).toBe(
    'Adapted: 1 task reads 16 partitions, because all of them are 9 B; the aim is 64 B a task, on 1 slot.',
  );
});

test('a stage that runs as planned has nothing to say', () => {
  expect([words(null), words({ tasks: 16 })]).toEqual([null, null]);
});
