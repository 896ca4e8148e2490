import { expect, test } from 'vitest';
import { skewOf } from './skew.ts';

const shown = (bytes: number): string => `${bytes} B`;

test.each([
  [[100, 100, 100, 900], 'Skewed: partition 3 holds 900 B of 1200 B, 9.0 × the median.'],
  [[0, 0, 0, 50], 'Skewed: partition 3 holds 50 B of 50 B.'],
  [[80, 20], 'Skewed: partition 0 holds 80 B of 100 B, 1.6 × the median.'],
  [[100, 110, 90], 'Even: the largest partition has 1.1 × the median.'],
])('%j is said as: %s', (sizes, words) => {
  expect(skewOf(sizes, shown)?.words).toBe(words);
});

test.each([[[]], [[7]], [[0, 0]]])('%j has nothing to compare', (sizes) => {
  expect(skewOf(sizes, shown)).toBeNull();
});
