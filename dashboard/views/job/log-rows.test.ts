import { expect, test } from 'vitest';
import type { LogShape } from '../../../src/scheduler/contract/index.ts';
import { logRows, logText } from './log-rows.ts';

const line = (parts: Partial<LogShape>): LogShape => ({
  seq: 1,
  at: '2026-11-15T02:00:00.000Z',
  task: 'a',
  attempt: 1,
  level: 'info',
  message: 'hello',
  fields: null,
  ...parts,
});

test('a message of several lines takes several rows, and counts as one', () => {
  const { rows, found } = logRows([line({ message: 'Error: no\n  at a\n  at b' })], {
    search: '',
    level: 'debug',
  });
  expect(rows.map(({ no, text }) => [no, text])).toEqual([
    [0, 'Error: no'],
    [1, '  at a'],
    [2, '  at b'],
  ]);
  expect(found).toBe(1);
});

test('a search looks at tasks and fields too, a level leaves out what is below it', () => {
  const lines = [
    line({ seq: 1, message: 'charged', fields: { customer: 'Ada' } }),
    line({ seq: 2, level: 'warn', task: 'ada-2' }),
    line({ seq: 3, level: 'debug', message: 'nothing' }),
  ];
  const found = (search: string, level: LogShape['level']): readonly number[] =>
    logRows(lines, { search, level }).rows.map((row) => row.line.seq);
  expect(found('ADA', 'debug')).toEqual([1, 2]);
  expect(found('', 'info')).toEqual([1, 2]);
  expect(found('ada', 'warn')).toEqual([2]);
  expect(found('bob', 'debug')).toEqual([]);
});

test('a line as text has everything', () => {
  expect(logText(line({ attempt: 2, fields: { n: 1 } }))).toBe(
    '2026-11-15T02:00:00.000Z info a attempt 2: hello {"n":1}',
  );
});
