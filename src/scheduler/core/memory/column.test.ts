import { expect, test } from 'vitest';
import { Column, bytes, shorts, words } from './column.ts';

test('grows with the slots that are written', () => {
  const column = new Column(words);
  column.set(1_000, 7);
  expect(column.get(1_000)).toBe(7);
  expect(column.get(999)).toBe(0);
  expect(column.get(100_000)).toBe(0);
});

test.each([
  ['a count below zero', bytes, -1],
  ['more than a byte', bytes, 256],
  ['more than a short', shorts, 65_536],
  ['a fence beyond its range', words, 2 ** 32],
  ['a fraction', words, 0.5],
])('refuses %s instead of keeping another number', (_name, make, value) => {
  expect(() => new Column(make).set(1, value)).toThrow(`a column cannot hold ${value}`);
});
