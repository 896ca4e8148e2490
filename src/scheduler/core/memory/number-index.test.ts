import fc from 'fast-check';
import { expect, test } from 'vitest';
import { mix } from '../random.ts';
import { NumberIndex } from './number-index.ts';

/** Keys by number; few hashes, so that numbers get in each other's way. */
function indexOver(keys: ReadonlyMap<number, number>, spread: number): NumberIndex {
  return new NumberIndex((number) => hashOf(keys.get(number)!, spread));
}

const hashOf = (key: number, spread: number): number => (mix(key) % spread) * 0x10_0001;

test('finds what was added and was not removed, and nothing else', () => {
  const steps = fc.array(fc.tuple(fc.boolean(), fc.nat(60)), { maxLength: 400 });
  fc.assert(
    fc.property(steps, fc.integer({ min: 1, max: 40 }), (each, spread) => {
      const keys = new Map<number, number>();
      const index = indexOver(keys, spread);
      const model = new Map<number, number>();
      const find = (key: number): number =>
        index.find(hashOf(key, spread), (number) => keys.get(number) === key);
      let last = 0;
      for (const [isAdded, key] of each) {
        const known = model.get(key);
        if (isAdded && known === undefined) {
          last += 1;
          keys.set(last, key);
          index.add(last);
          model.set(key, last);
        } else if (!isAdded && known !== undefined) {
          index.remove(known);
          model.delete(key);
        }
      }
      for (let key = 0; key <= 60; key += 1) expect(find(key)).toBe(model.get(key) ?? 0);
    }),
  );
});

test('holds as many as there are', () => {
  const hash = (number: number): number => mix(number);
  const index = new NumberIndex(hash);
  for (let number = 1; number <= 100_000; number += 1) index.add(number);
  for (let number = 2; number <= 100_000; number += 2) index.remove(number);
  const found = Array.from({ length: 100_000 }, (_, at) => {
    return index.find(hash(at + 1), (each) => each === at + 1) === at + 1;
  });
  expect(found.every((isThere, at) => isThere === (at % 2 === 0))).toBe(true);
});

test('does not remove what is not in it', () => {
  const index = new NumberIndex((number) => number);
  index.add(1);
  expect(() => index.remove(2)).toThrow('a number that is removed is in the index');
});
