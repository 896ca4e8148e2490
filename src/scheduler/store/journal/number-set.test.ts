import fc from 'fast-check';
import { expect, test } from 'vitest';
import { NumberSet } from './number-set.ts';

/** Near each other, at both sides of a page's end, and far away. */
const numbers = fc.oneof(
  fc.integer({ min: 0, max: 70 }),
  fc.integer({ min: 4_090, max: 4_100 }),
  fc.integer({ min: 2 ** 40, max: 2 ** 40 + 40 }),
);

test('has what was added and was not deleted, and nothing else', () => {
  const moves = fc.array(fc.tuple(fc.boolean(), numbers), { maxLength: 300 });
  fc.assert(
    fc.property(moves, numbers, (all, other) => {
      const set = new NumberSet();
      const model = new Set<number>();
      for (const [isAdded, number] of all) {
        if (isAdded) {
          set.add(number);
          model.add(number);
        } else {
          set.delete(number);
          model.delete(number);
        }
        for (const each of [number, other]) expect(set.has(each)).toBe(model.has(each));
      }
      for (const [, number] of all) expect(set.has(number)).toBe(model.has(number));
    }),
  );
});

test('keeps nothing for numbers that have left', () => {
  const set = new NumberSet();
  for (let number = 0; number < 20_000; number += 1) set.add(number);
  expect(set.pages).toBe(5);
  for (let number = 0; number < 20_000; number += 1) set.delete(number);
  expect(set.pages).toBe(0);
});
