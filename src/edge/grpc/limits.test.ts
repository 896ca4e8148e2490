import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fitting, inParts, keepAliveFor } from './limits.ts';

test('a dead connection is noticed within half of a session, whatever its time to live', () => {
  const property = fc.property(fc.integer({ min: 100, max: 3_600_000 }), (ttlMs) => {
    const { everyMs, timeoutMs } = keepAliveFor(ttlMs);
    expect(everyMs + timeoutMs).toBeLessThan(ttlMs / 2);
  });
  fc.assert(property);
  expect(keepAliveFor(20_000)).toEqual({ everyMs: 6_666, timeoutMs: 2_500 });
});

test('parts contain all items in order, none is empty, and only a single item may exceed the limit', () => {
  const sizes = fc.array(fc.integer({ min: 0, max: 20 * 1024 * 1024 }), { maxLength: 30 });
  const property = fc.property(sizes, (items) => {
    const parts = [...inParts(items, (bytes) => bytes)];
    expect(parts.flat()).toEqual(items);
    for (const part of parts) {
      expect(part.length).toBeGreaterThan(0);
      const bytes = part.reduce((sum, each) => sum + each, 0);
      expect(part.length === 1 || bytes <= 16 * 1024 * 1024).toBe(true);
    }
  });
  fc.assert(property);
});

test('at least one item fits, if there is one', () => {
  expect(fitting([99 * 1024 * 1024], 0, (bytes) => bytes)).toBe(1);
  expect(fitting([], 0, () => 0)).toBe(0);
});
