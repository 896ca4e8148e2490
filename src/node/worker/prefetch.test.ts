import { expect, test } from 'vitest';
import { VirtualClock } from '../../kit/index.ts';
import { Prefetch } from './prefetch.ts';

function after(slots: number, runMs: number): number {
  const prefetch = new Prefetch(slots, undefined);
  for (let at = 0; at < 100; at += 1) prefetch.ran(runMs);
  return prefetch.size;
}

test('nothing is fetched ahead before a run time is known', () => {
  expect(new Prefetch(8, undefined).size).toBe(0);
});

test('work for some milliseconds is fetched ahead: much of the short, none of the long', () => {
  expect(after(8, 0)).toBe(500);
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

test('a number that was set stands, and a worker without slots fetches nothing', () => {
  const fixed = new Prefetch(8, 3);
  fixed.ran(60_000);
  expect(fixed.size).toBe(3);
  expect(new Prefetch(0, undefined).max).toBe(0);
});

test('what is fetched ahead waits for slots without fragments of queries, whose run times do not count', async () => {
  const prefetch = new Prefetch(4, undefined);
  const clock = new VirtualClock();
  for (let at = 0; at < 100; at += 1) prefetch.ran(10);
  expect(prefetch.size).toBe(10);
  const ends = [1, 2, 3].map(() => prefetch.began(clock, true));
  expect(prefetch.size).toBe(2);
  await clock.advance(60_000);
  for (const end of ends) end();
  expect(prefetch.size).toBe(10);
});
