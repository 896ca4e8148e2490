import { expect, test } from 'vitest';
import { table } from './table.ts';
import {
  bytesWords,
  counted,
  countWords,
  exactSpan,
  reasonWords,
  shortened,
  span,
  took,
  when,
} from './wording.ts';

test.each([
  [-5, '0ms'],
  [340, '340ms'],
  [1_999, '1s'],
  [60_000, '1m'],
  [200_000, '3m 20s'],
  [7_500_000, '2h 5m'],
  [349_200_000, '4d 1h'],
])('%i milliseconds are %s', (ms, text) => {
  expect(span(ms)).toBe(text);
});

test('what somebody waits for is shown more exactly, and large numbers so that they can be read', () => {
  expect([340, 2_940, 75_000].map(exactSpan)).toEqual(['340ms', '2.9s', '1m 15s']);
  expect([0, 1_023, 1_536, 3 * 2 ** 30].map(bytesWords)).toEqual([
    '0 B',
    '1023 B',
    '1.5 KiB',
    '3.0 GiB',
  ]);
  expect(countWords(1_234_567)).toBe('1,234,567');
});

test('times are relative to the moment of the answer, past and future', () => {
  const now = '2026-11-15T06:00:00.000Z';
  expect(when('2026-11-15T05:59:00.000Z', now)).toBe('1m ago');
  expect(when('2026-11-15T06:00:02.000Z', now)).toBe('in 2s');
  expect(when(null, now)).toBeNull();
  expect(when('never', now)).toBe('never');
  expect(took('2026-11-15T05:59:00.000Z', null, now)).toBe('1m');
  expect(took('2026-11-15T05:59:00.000Z', '2026-11-15T05:59:01.000Z', now)).toBe('1s');
});

test('a reason tells long times as people do, and short ones to the millisecond', () => {
  expect(reasonWords('waits for signal go for another 259198786 ms')).toBe(
    'waits for signal go for another 2d 23h',
  );
  expect(reasonWords('sleeps for 993 ms')).toBe('sleeps for 993 ms');
});

test('counts agree with their words, and long text is cut where it says so', () => {
  expect([counted(1, 'task'), counted(0, 'task')]).toEqual(['1 task', '0 tasks']);
  expect([shortened('abcdef', 4), shortened('abcd', 4)]).toEqual(['abc…', 'abcd']);
});

test('columns line up, numbers to the right, and nothing trails', () => {
  expect(
    table(
      ['NAME', 'COUNT', 'NOTE'],
      [
        ['a', 5, null],
        ['longer', 1_000, ''],
      ],
    ),
  ).toEqual(['NAME    COUNT  NOTE', 'a           5  -', 'longer   1000']);
});
