import { expect, test } from 'vitest';
import { withDeadline } from './deadline.ts';
import { deferred } from './deferred.ts';
import { VirtualClock } from './virtual-clock.ts';

const late = (): Error => new Error('too late');

test('gives the answer that comes in time, and leaves no timer behind', async () => {
  const clock = new VirtualClock();
  await expect(withDeadline(clock, 100, Promise.resolve(7), late)).resolves.toBe(7);
  expect(clock.nextAtMs).toBeNull();
});

test('passes on the error of the answer', async () => {
  const answer = Promise.reject(new Error('refused'));
  await expect(withDeadline(new VirtualClock(), 100, answer, late)).rejects.toThrow('refused');
});

test('fails when the time is up', async () => {
  const clock = new VirtualClock();
  const answer = withDeadline(clock, 100, new Promise<never>(() => {}), late);
  const failure = answer.catch((error: unknown) => error);
  await clock.advance(100);
  expect(await failure).toEqual(late());
});

test('prefers an answer that arrived while the process was suspended', async () => {
  const clock = new VirtualClock();
  const reply = deferred<string>();
  const answer = withDeadline(clock, 100, reply.promise, late);
  const both = clock.jump(1_000);
  // Read in the same turn of the event loop in which the timer fires.
  setImmediate(() => reply.resolve('here'));
  await both;
  await expect(answer).resolves.toBe('here');
});
