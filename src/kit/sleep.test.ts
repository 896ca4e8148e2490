import { expect, test } from 'vitest';
import { sleep as sleepOn, sleepOrAbort } from './sleep.ts';
import { VirtualClock, settled } from './virtual-clock.ts';

async function isOver(promise: Promise<unknown>): Promise<boolean> {
  let over = false;
  promise.then(
    () => (over = true),
    () => (over = true),
  );
  await settled();
  return over;
}

test('resolves when the time has passed, and not before', async () => {
  const clock = new VirtualClock();
  const asleep = sleepOn(clock, 100);
  await clock.advance(99);
  expect(await isOver(asleep)).toBe(false);
  await clock.advance(1);
  expect(await isOver(asleep)).toBe(true);
});

test('rejects with the reason as soon as the signal aborts, and leaves no timer behind', async () => {
  const clock = new VirtualClock();
  const control = new AbortController();
  const asleep = sleepOn(clock, 100, control.signal);
  control.abort(new Error('enough'));
  await expect(asleep).rejects.toThrow('enough');
  expect(clock.nextAtMs).toBeNull();
});

test('rejects at once when the signal has aborted before', async () => {
  const clock = new VirtualClock();
  await expect(sleepOn(clock, 100, AbortSignal.abort(new Error('late')))).rejects.toThrow('late');
  expect(clock.nextAtMs).toBeNull();
});

test('sleepOrAbort resolves on abort instead of rejecting', async () => {
  const clock = new VirtualClock();
  const control = new AbortController();
  const asleep = sleepOrAbort(clock, 100, control.signal);
  control.abort();
  await asleep;
  await sleepOrAbort(clock, 100, control.signal);
  expect(clock.nextAtMs).toBeNull();
});

test('removes its listener: a signal that outlives many sleeps keeps none of them', async () => {
  const clock = new VirtualClock();
  const { signal } = new AbortController();
  let listeners = 0;
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  signal.addEventListener = (...args: Parameters<typeof add>): void => {
    listeners += 1;
    add(...args);
  };
  signal.removeEventListener = (...args: Parameters<typeof remove>): void => {
    listeners -= 1;
    remove(...args);
  };
  const asleep = sleepOn(clock, 10, signal);
  expect(listeners).toBe(1);
  await clock.advance(10);
  await asleep;
  expect(listeners).toBe(0);
});
