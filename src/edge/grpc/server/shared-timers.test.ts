import { expect, test } from 'vitest';
import { VirtualClock } from '../../../kit/index.ts';
import { SharedTimers } from './shared-timers.ts';

test('long waits end together, a little before their time', async () => {
  const clock = new VirtualClock();
  const timers = new SharedTimers(clock, 250);
  const ended: string[] = [];
  await clock.advance(100);
  timers.after(30_000, () => ended.push('first'));
  await clock.advance(60);
  timers.after(30_000, () => ended.push('second'));
  const cancel = timers.after(30_000, () => ended.push('cancelled'));
  await clock.advance(100);
  timers.after(30_000, () => ended.push('third'));
  cancel();
  await clock.advance(29_739);
  expect(ended).toEqual([]);
  await clock.advance(1);
  expect(ended).toEqual(['first', 'second']);
  await clock.advance(250);
  expect(ended).toEqual(['first', 'second', 'third']);
});

test('a short wait lasts as long as it was asked for', async () => {
  const clock = new VirtualClock();
  const timers = new SharedTimers(clock, 250);
  let hasEnded = false;
  timers.after(1_200, () => (hasEnded = true));
  await clock.advance(1_199);
  expect(hasEnded).toBe(false);
  await clock.advance(1);
  expect(hasEnded).toBe(true);
});

test('no timer is left when all who waited are gone', () => {
  let armed = 0;
  const clock = {
    monotonicMs: () => 0,
    after() {
      armed += 1;
      return () => (armed -= 1);
    },
  };
  const timers = new SharedTimers(clock, 250);
  const cancels = [timers.after(30_000, () => {}), timers.after(30_000, () => {})];
  expect(armed).toBe(1);
  for (const cancel of cancels) cancel();
  expect(armed).toBe(0);
});
