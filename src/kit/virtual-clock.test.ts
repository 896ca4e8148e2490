import { expect, test } from 'vitest';
import { VirtualClock } from './virtual-clock.ts';

test('time passes only by advance(), and timers fire in order', async () => {
  const clock = new VirtualClock();
  const fired: string[] = [];
  clock.after(20, () => fired.push(`late at ${clock.monotonicMs()}`));
  clock.after(10, () => {
    fired.push(`early at ${clock.monotonicMs()}`);
    clock.after(5, () => fired.push(`armed by it at ${clock.monotonicMs()}`));
  });
  const cancel = clock.after(12, () => fired.push('cancelled'));
  cancel();
  await clock.advance(18);
  expect(fired).toEqual(['early at 10', 'armed by it at 15']);
  expect(clock.monotonicMs()).toBe(18);
  await clock.jump(100);
  expect(fired.at(-1)).toBe('late at 118');
});

test('it says when the next timer fires, which is never before now', async () => {
  const clock = new VirtualClock();
  expect(clock.nextAtMs).toBeNull();
  clock.after(50, () => {});
  const cancel = clock.after(7, () => {});
  expect(clock.nextAtMs).toBe(7);
  cancel();
  expect(clock.nextAtMs).toBe(50);
  clock.after(-5, () => {});
  expect(clock.nextAtMs).toBe(0);
  await clock.advance(50);
  expect(clock.nextAtMs).toBeNull();
});
