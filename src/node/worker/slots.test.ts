import { expect, test } from 'vitest';
import { lease } from '../../../test/rig/fake-leader.ts';
import { Place } from '../../scheduler/core/index.ts';
import type { Attempt } from './attempt.ts';
import { Slots } from './slots.ts';

const attemptOf = (no: number): Attempt =>
  ({ lease: lease(no), place: new Place() }) as unknown as Attempt;

test('handlers that return at once leave the event loop its turns, and all of them run', async () => {
  let started = 0;
  let finish: () => void = () => {};
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const slots = new Slots({
    slots: 4,
    prefetch: () => 2_000,
    mayStart: () => true,
    start: (attempt) => {
      started += 1;
      if (started === 2_000) finish();
      queueMicrotask(() => {
        slots.ended(attempt);
        slots.fill();
      });
    },
  });
  for (let no = 0; no < 2_000; no += 1) slots.queue(attemptOf(no));
  const seen: number[] = [];
  const look = (): void => {
    seen.push(started);
    if (started < 2_000) setImmediate(look);
  };
  slots.fill();
  setImmediate(look);
  await finished;
  expect(started).toBe(2_000);
  expect(seen.length).toBeGreaterThan(4);
});

test('no more run at the same time than there are slots', () => {
  const running: Attempt[] = [];
  const slots = new Slots({
    slots: 2,
    prefetch: () => 1,
    mayStart: () => true,
    start: (started) => void running.push(started),
  });
  for (const no of [1, 2, 3]) slots.queue(attemptOf(no));
  slots.fill();
  expect(running).toHaveLength(2);
  for (const first of running.slice(0, 1)) slots.ended(first);
  slots.fill();
  expect(running).toHaveLength(3);
});

test('leases of one task are kept apart, whichever goes first', () => {
  const slots = new Slots({ slots: 9, prefetch: () => 0, mayStart: () => false, start: () => {} });
  const of = (fence: number): Attempt =>
    ({ lease: { ...lease(1), fence }, place: new Place() }) as unknown as Attempt;
  const attempts = [of(1), of(2), of(3)] as const;
  for (const attempt of attempts) expect(slots.hold(attempt)).toBe(true);
  expect(slots.hold(of(2))).toBe(false);
  const [first, second, third] = attempts;
  expect(slots.get({ ...first.lease })).toBe(first);
  slots.forget(second);
  expect(slots.leases).toEqual([first.lease, third.lease]);
  expect(slots.get(second.lease)).toBeUndefined();
  slots.forget(third);
  slots.forget(third);
  expect(slots.get(third.lease)).toBeUndefined();
  expect(slots.get(first.lease)).toBe(first);
  slots.forget(first);
  expect(slots.isEmpty).toBe(true);
});
