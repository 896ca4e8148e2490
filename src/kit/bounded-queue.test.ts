import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BoundedQueue } from './bounded-queue.ts';

test('a full queue refuses and keeps what it has', () => {
  const queue = new BoundedQueue<string>(2);
  expect(['a', 'b', 'c'].map((item) => queue.offer(item))).toEqual([
    'accepted',
    'accepted',
    'full',
  ]);
  expect(queue.take()).toEqual(['a', 'b']);
  expect(queue.size).toBe(0);
});

test.each([0, -1, 1.5, Number.NaN])('a capacity of %s is refused', (capacity) => {
  expect(() => new BoundedQueue(capacity)).toThrow(/capacity/);
});

test('it behaves like a list with a limit, whatever is offered and taken', () => {
  const action = fc.oneof(
    fc.record({ offer: fc.integer() }),
    fc.record({ take: fc.integer({ min: 0, max: 5 }) }),
  );
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 7 }), fc.array(action), (capacity, actions) => {
      const queue = new BoundedQueue<number>(capacity);
      const model: number[] = [];
      for (const step of actions) {
        if ('take' in step) {
          expect(queue.take(step.take)).toEqual(model.splice(0, step.take));
        } else {
          const fits = model.length < capacity;
          if (fits) model.push(step.offer);
          expect(queue.offer(step.offer)).toBe(fits ? 'accepted' : 'full');
        }
        expect(queue.size).toBe(model.length);
      }
    }),
  );
});
