import fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalJson } from './json.ts';
import type { Json } from './json.ts';
import { fraction, mix } from './random.ts';

test('the same numbers give the same hash, and their order counts', () => {
  expect(mix(1, 2, 3)).toBe(mix(1, 2, 3));
  expect(mix(1, 2)).not.toBe(mix(2, 1));
});

test('numbers beyond 32 bits count in full', () => {
  expect(mix(1)).not.toBe(mix(1 + 2 ** 32));
});

test('fractions of neighbours are spread evenly over [0, 1)', () => {
  const buckets = Array.from({ length: 10 }, () => 0);
  for (let no = 0; no < 10_000; no += 1) {
    const value = fraction(1, no, 1);
    expect(value).toBeGreaterThanOrEqual(0);
    expect(value).toBeLessThan(1);
    const at = Math.floor(value * 10);
    buckets[at] = (buckets[at] ?? 0) + 1;
  }
  for (const count of buckets) expect(Math.abs(count - 1_000)).toBeLessThan(150);
});

test('the canonical text of a value does not depend on the order of its keys', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
      const reversed = (each: unknown): unknown => {
        if (Array.isArray(each)) return each.map(reversed);
        if (each === null || typeof each !== 'object') return each;
        const entries = Object.entries(each).toReversed();
        return Object.fromEntries(entries.map(([key, part]) => [key, reversed(part)]));
      };
      const text = canonicalJson(value as Json);
      expect(canonicalJson(reversed(value) as Json)).toBe(text);
      expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
    }),
  );
});
