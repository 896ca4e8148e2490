import { expect, test } from 'vitest';
import { threadsFor } from './fragment-executor.ts';

test('a few fragments have all processors each, many have their share', () => {
  const of = (cores: number, slots: number) => (atWork: number) => threadsFor(cores, slots, atWork);
  expect([1, 2, 3, 8].map(of(16, 8))).toEqual([16, 16, 2, 2]);
  expect([1, 2, 8].map(of(2, 8))).toEqual([2, 2, 1]);
  expect([1, 2].map(of(6, 2))).toEqual([6, 3]);
  expect([1].map(of(6, 1))).toEqual([6]);
});

test('a fragment has no more processors than its share of the cluster', () => {
  expect(threadsFor(16, 8, 1, 4)).toBe(4);
  expect(threadsFor(2, 8, 1, 1)).toBe(1);
  expect(threadsFor(2, 8, 1, 64)).toBe(2);
  expect(threadsFor(2, 8, 1, 0)).toBe(1);
});
