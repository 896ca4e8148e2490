import { expect, test } from 'vitest';
import { ByteColumn, ShortColumn, WordColumn } from './column.ts';

test('grows with the slots that are written', () => {
  const column = new WordColumn();
  column.set(1_000, 7);
  expect(column.get(1_000)).toBe(7);
  expect(column.get(999)).toBe(0);
  expect(column.get(100_000)).toBe(0);
});

test.each([
  ['a count below zero', ByteColumn, -1],
  ['more than a byte', ByteColumn, 256],
  ['more than a short', ShortColumn, 65_536],
  ['a fence beyond its range', WordColumn, 2 ** 32],
  ['a fraction', WordColumn, 0.5],
])('refuses %s instead of keeping another number', (_name, Kind, value) => {
  expect(() => new Kind().set(1, value)).toThrow(`a column cannot hold ${value}`);
});
