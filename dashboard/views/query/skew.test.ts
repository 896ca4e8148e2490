import { expect, test } from 'vitest';
import type { JobShape } from '../../../src/scheduler/contract/index.ts';
import { producersOf, rowsPerPartition } from './shuffle.ts';
import { skewOf } from './skew.ts';

test.each([
  [[100, 100, 100, 900], 'Skewed: partition 3 holds 75 % of the rows; an even share is 25 %.'],
  [[0, 0, 0, 50], 'Skewed: partition 3 holds 100 % of the rows; an even share is 25 %.'],
  [[80, 20], 'Skewed: partition 0 holds 80 % of the rows; an even share is 50 %.'],
  [[100, 110, 90], 'Even: the largest, partition 1 holds 37 % of the rows; an even share is 33 %.'],
])('%j is said as: %s', (sizes, words) => {
  expect(skewOf(sizes, 'rows')?.words).toBe(words);
});

test.each([[[]], [[7]], [[0, 0]]])('%j has nothing to compare', (sizes) => {
  expect(skewOf(sizes, 'rows')).toBeNull();
});

test('producers are the ended tasks of the stage, whatever their results look like', () => {
  const parts = [
    { rows: 3, bytes: 30, segments: [] },
    { rows: 1, bytes: 10, segments: [] },
  ];
  const job = {
    tasks: [
      { id: 'plan', node: null, result: { parts } },
      { id: 's1.0', node: 'w1', result: { parts } },
      { id: 's1.1', node: 'w2', result: null },
      { id: 's1.2', node: 'w2', result: { parts: [{ rows: 'x' }, null] } },
      { id: 's10.0', node: 'w2', result: { parts } },
    ],
  } as unknown as JobShape;
  const producers = producersOf(1, job);
  expect(producers.map(({ task, cells }) => [task, cells.map(({ bytes }) => bytes)])).toEqual([
    ['s1.0', [30, 10]],
    ['s1.2', [0, 0]],
  ]);
  expect(rowsPerPartition(producers)).toEqual([3, 1]);
});
