import { expect, test } from 'vitest';
import { backslashOf } from './backslash.ts';

test.each([
  ['\\d', { kind: 'query', sql: 'SHOW TABLES' }],
  ['\\d sales;', { kind: 'query', sql: 'DESCRIBE SELECT * FROM sales' }],
  ["\\d 'a b.csv'", { kind: 'query', sql: "DESCRIBE SELECT * FROM 'a b.csv'" }],
  ['\\d a b" --', { kind: 'query', sql: 'DESCRIBE SELECT * FROM "a b"" --"' }],
  [' \\timing ', { kind: 'timing' }],
  ['\\x', { kind: 'expanded' }],
  ['quit;', { kind: 'quit' }],
  ['\\?', { kind: 'help' }],
  ['select 1', null],
  ['helpers', null],
])('%s', (line, wanted) => {
  expect(backslashOf(line)).toEqual(wanted);
});

test.each([
  ['\\timnig', "'\\timnig' is not a command of this shell. Did you mean '\\timing'?"],
  ['\\q now', '\\q takes no argument.'],
  ['\\constructor', "'\\constructor' is not a command of this shell."],
])('%s is refused', (line, words) => {
  expect(backslashOf(line)).toMatchObject({
    kind: 'unknown',
    text: expect.stringContaining(words) as unknown,
  });
});
