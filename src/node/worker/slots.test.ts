import { expect, test } from 'vitest';
import { lease } from '../../../test/rig/fake-leader.ts';
import type { Attempt } from './attempt.ts';
import { leaseKey } from './lease-key.ts';
import { Slots } from './slots.ts';

const attempt = (no: number): Attempt =>
  ({ lease: lease(no), key: leaseKey(lease(no)) }) as unknown as Attempt;

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
    start: (_attempt, done) => {
      started += 1;
      if (started === 2_000) finish();
      queueMicrotask(done);
    },
  });
  for (let no = 0; no < 2_000; no += 1) slots.queue(attempt(no));
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
  const ends: (() => void)[] = [];
  const slots = new Slots({
    slots: 2,
    prefetch: () => 1,
    mayStart: () => true,
    start: (_attempt, done) => ends.push(done),
  });
  for (const no of [1, 2, 3]) slots.queue(attempt(no));
  slots.fill();
  expect(ends).toHaveLength(2);
  ends[0]?.();
  expect(ends).toHaveLength(3);
});
