import { expect, test } from 'vitest';
import { durationMs } from './duration.ts';

test.each([
  [0, 0],
  [1.2, 2],
  ['250ms', 250],
  ['90s', 90_000],
  ['2h30m', 9_000_000],
  ['1.5h', 5_400_000],
  [' 3d ', 259_200_000],
  ['1w 1d', 691_200_000],
])('%s is %d ms', (duration, ms) => {
  expect(durationMs(duration)).toBe(ms);
});

test.each([
  -1,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  '',
  '  ',
  '5',
  'soon',
  '3 days',
  '-1s',
  '1h!',
])('%s is not a length of time', (duration) => {
  expect(durationMs(duration)).toBeNull();
});
