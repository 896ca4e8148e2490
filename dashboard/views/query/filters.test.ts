import { expect, test } from 'vitest';
import type { StageFilter } from '../../../src/scheduler/contract/index.ts';
import { filterWords } from './filters.ts';

const filter: StageFilter = { name: 'sales.item', from: 2, rows: 9, by: 'list', keys: 4 };
const words = (filters: readonly StageFilter[], filteredRows: number | null = null) =>
  filterWords({ filters, filteredRows }, String);

test('a filtered scan is said with whose keys it was filtered by', () => {
  expect(words([filter])).toBe('Adapted: filtered sales.item by 4 keys of stage 2.');
  expect(
    words(
      [
        { ...filter, keys: 1 },
        { ...filter, by: 'range', keys: null },
      ],
      70,
    ),
  ).toBe(
    'Adapted: filtered sales.item by 1 key of stage 2, sales.item by the range of keys in stage 2; 70 rows left out.',
  );
  expect(words([{ ...filter, by: 'empty', keys: 0 }])).toBe(
    'Adapted: filtered sales.item by stage 2, which has no keys.',
  );
});

test('a scan that was not filtered has nothing to say', () => {
  expect([
    words([]),
    words([{ ...filter, by: 'none', keys: null }]),
    filterWords(null, String),
  ]).toEqual([null, null, null]);
});
