import { expect, test } from 'vitest';
import { facts } from './table.ts';

test('a fact of several lines keeps them under each other, so that a pointer points', () => {
  const error = 'bad_query: no x\nselect x\n       ^';
  expect(
    facts([
      ['job', 'j-1'],
      ['error', error],
      ['node', null],
    ]),
  ).toEqual(['job    j-1', 'error  bad_query: no x', '       select x', '              ^']);
});

test('what would move the cursor of a terminal is shown instead', () => {
  expect(facts([['a', 'x\u001B[2Jy']])).toEqual(['a  x\uFFFD[2Jy']);
});
