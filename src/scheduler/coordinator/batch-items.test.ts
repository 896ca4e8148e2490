import { expect, test } from 'vitest';
import { itemsOf } from './batch-items.ts';

const MIB = 1024 * 1024;

test('the items of all inputs, in their order', () => {
  expect(itemsOf(['[1,2]', '[]', '["a",{"b":null}]'], MIB)).toBe('[1,2,"a",{"b":null}]');
});

test('data that looks like a reference stays data', () => {
  const input = JSON.stringify({ $literal: [{ $from: 'x' }] });
  expect(itemsOf(['[1]', input], MIB)).toBe('[1,{"$from":"x"}]');
});

test('no more than a worker takes in', () => {
  const half = JSON.stringify(['x'.repeat(600)]);
  expect(itemsOf([half], 1_000)).toBe(half);
  expect(itemsOf([half, half], 1_000)).toBeNull();
  // Two bytes each: short as text, long as bytes.
  expect(itemsOf([JSON.stringify(['é'.repeat(600)])], 1_000)).toBeNull();
});
