import fc from 'fast-check';
import { expect, test } from 'vitest';
import { idHash, uuidText, uuidWords } from './uuid-words.ts';

test('a UUID comes back as it was', () => {
  fc.assert(
    fc.property(fc.uuid(), (id) => {
      expect(uuidText(uuidWords(id)!)).toBe(id);
    }),
  );
});

test('what is written in another way has no words', () => {
  const id = '0193a2f5-c6a1-7c3e-9b7a-00000000ffff';
  for (const other of [id.toUpperCase(), id.slice(1), `${id}0`, id.replaceAll('-', '0')]) {
    expect(uuidWords(other)).toBeNull();
  }
  for (let at = 0; at < id.length; at += 1) {
    for (const mark of ['-', 'g', ':', '/', '0']) {
      const changed = id.slice(0, at) + mark + id.slice(at + 1);
      const words = uuidWords(changed);
      if (words !== null) expect(uuidText(words)).toBe(changed);
    }
  }
});

test('other ids have hashes that differ', () => {
  const hashes = Array.from({ length: 10_000 }, (_, at) => idHash(`job-${at}`).join('.'));
  expect(new Set(hashes).size).toBeGreaterThan(9_990);
});
