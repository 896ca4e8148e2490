import fc from 'fast-check';
import { expect, test } from 'vitest';
import { HashIndex, nameHash } from './hash-index.ts';

test('names that differ have hashes that differ, and the hash is a whole number', () => {
  const names = Array.from({ length: 200_000 }, (_, at) => `job_${at.toString(36)}`);
  const hashes = new Set(names.map(nameHash));
  expect(hashes.size).toBe(names.length);
  expect([...hashes].every((hash) => Number.isSafeInteger(hash) && hash >= 0)).toBe(true);
  expect(nameHash('')).not.toBe(nameHash('\u0001'));
});

test('the index answers like a map of sets, through growth, removals and equal hashes', () => {
  const hash = fc.integer({ min: 0, max: 40 }).map((value) => value * 0x1_0000_0001);
  const action = fc.tuple(fc.constantFrom('add', 'add', 'remove'), hash);
  fc.assert(
    fc.property(fc.array(action, { maxLength: 300 }), (actions) => {
      const index = new HashIndex(4);
      const model = new Map<number, Set<number>>();
      let no = 0;
      for (const [kind, key] of actions) {
        const numbers = model.get(key) ?? new Set<number>();
        model.set(key, numbers);
        const oldest = [...numbers][0];
        if (kind === 'add') {
          no += 1;
          index.add(key, no);
          numbers.add(no);
        } else if (oldest !== undefined) {
          index.remove(key, oldest);
          numbers.delete(oldest);
        } else {
          index.remove(key, 999);
        }
        expect(new Set(index.find(key))).toEqual(numbers);
      }
      for (const [key, numbers] of model) expect(new Set(index.find(key))).toEqual(numbers);
    }),
  );
});
