import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { systemClock } from './clock.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('readings never go back', () => {
  const first = systemClock.monotonicMs();
  vi.advanceTimersByTime(5);
  expect(systemClock.monotonicMs()).toBeGreaterThanOrEqual(first + 5);
});

test('a timer fires once, after its time', () => {
  const fired = vi.fn<() => void>();
  systemClock.after(100, fired);
  vi.advanceTimersByTime(99);
  expect(fired).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1000);
  expect(fired).toHaveBeenCalledTimes(1);
});

test('a cancelled timer does not fire, and cancelling again does nothing', () => {
  const fired = vi.fn<() => void>();
  const cancel = systemClock.after(100, fired);
  cancel();
  cancel();
  vi.advanceTimersByTime(1000);
  expect(fired).not.toHaveBeenCalled();
});

test('a wait longer than a Node timer can hold does not fire early and can be cancelled late', () => {
  const dayMs = 24 * 60 * 60 * 1000;
  const fired = vi.fn<() => void>();
  const cancelled = vi.fn<() => void>();
  systemClock.after(30 * dayMs, fired);
  const cancel = systemClock.after(30 * dayMs, cancelled);
  vi.advanceTimersByTime(29 * dayMs);
  cancel();
  expect(fired).not.toHaveBeenCalled();
  vi.advanceTimersByTime(dayMs);
  expect(fired).toHaveBeenCalledTimes(1);
  expect(cancelled).not.toHaveBeenCalled();
});
