import { expect, test } from 'vitest';
import { Prefetch } from './prefetch.ts';

function after(slots: number, runMs: number): number {
  const prefetch = new Prefetch(slots, undefined);
  for (let at = 0; at < 100; at += 1) prefetch.ran(runMs);
  return prefetch.size;
}

test('nothing is prefetched before a run time is known', () => {
  expect(new Prefetch(8, undefined).size).toBe(0);
});

test('work for some milliseconds is prefetched: many short tasks, no long ones', () => {
  expect(after(8, 0)).toBe(2_000);
  expect(after(8, 10)).toBe(20);
  expect(after(8, 100)).toBe(2);
  expect(after(8, 1_000)).toBe(0);
});

test('one long task among short ones does not stop it, many do', () => {
  const prefetch = new Prefetch(4, undefined);
  for (let at = 0; at < 50; at += 1) prefetch.ran(1);
  prefetch.ran(30);
  expect(prefetch.size).toBeGreaterThan(20);
  for (let at = 0; at < 50; at += 1) prefetch.ran(60_000);
  expect(prefetch.size).toBe(0);
});

test('a configured prefetch is used as it is, and a worker without slots prefetches nothing', () => {
  const fixed = new Prefetch(8, 3);
  fixed.ran(60_000);
  expect(fixed.size).toBe(3);
  expect(new Prefetch(0, undefined).max).toBe(0);
});

test('prefetch ignores slots with query fragments, and their run times', () => {
  const prefetch = new Prefetch(4, undefined);
  for (let at = 0; at < 100; at += 1) prefetch.ran(10);
  expect(prefetch.size).toBe(10);
  for (let at = 0; at < 3; at += 1) prefetch.began(true);
  expect(prefetch.size).toBe(2);
  for (let at = 0; at < 3; at += 1) prefetch.ended(true, 60_000);
  expect(prefetch.size).toBe(10);
});
