import { expect, test } from 'vitest';
import { durationMs, parseDuration } from './duration.ts';

test.each([
  [0, 0],
  [1.2, 2],
  ['250ms', 250],
  ['90s', 90_000],
  ['2h30m', 9_000_000],
  ['1.5h', 5_400_000],
  ['1.1h', 3_960_000],
  ['5', 5],
  ['2H 30M', 9_000_000],
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
  'soon',
  '3 days',
  '-1s',
  '1h!',
  '0.1ms',
  '1.5',
  '1e3',
  '9007199254740993',
])('%s is not a valid duration', (duration) => {
  expect(durationMs(duration)).toBeNull();
});

test('a sign counts for the whole', () => {
  expect(parseDuration('-1h30m')).toBe(-5_400_000);
  expect(parseDuration('+90s')).toBe(90_000);
  expect(parseDuration('-0')).toBe(0);
});
