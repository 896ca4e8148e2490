import { expect, test } from 'vitest';
import { Backoff, backoffMs } from './backoff.ts';

const RANGE = { firstMs: 100, maxMs: 2_000 };

test('doubles with each failure up to the longest delay', () => {
  const delays = [1, 2, 3, 4, 5, 6, 2_000].map((failures) => backoffMs(RANGE, failures));
  expect(delays).toEqual([100, 200, 400, 800, 1_600, 2_000, 2_000]);
});

test('jitter keeps the delay between half and all of it', () => {
  expect(backoffMs(RANGE, 3, () => 0)).toBe(200);
  expect(backoffMs(RANGE, 3, () => 0.5)).toBe(300);
  expect(backoffMs(RANGE, 3, () => 1)).toBe(400);
});

test('counts failures and starts over after a success', () => {
  const backoff = new Backoff(RANGE, () => 1);
  expect([backoff.nextMs(), backoff.nextMs(), backoff.nextMs()]).toEqual([100, 200, 400]);
  backoff.reset();
  expect(backoff.nextMs()).toBe(100);
});
