import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { refusalOf } from '../../../../test/rig/refusal.ts';
import { DEPTH_MAX, weigh } from './weigh.ts';

const weighed = (value: unknown, bytesMax = 1_000_000): number =>
  weigh(value, '', 'The thing', 0, bytesMax);

function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level += 1) value = level % 2 === 0 ? [value] : { a: value };
  return value;
}

describe('weighing', () => {
  test('finds the bytes of the compact JSON text', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(weighed(value)).toBe(new TextEncoder().encode(JSON.stringify(value)).length);
      }),
    );
  });

  test('does not count fields that JSON leaves out', () => {
    const value = { a: undefined, b: 1, c: () => 1, d: [undefined, 2] };
    expect(weighed(value)).toBe(JSON.stringify(value).length);
  });

  test('accepts exactly the limit', () => {
    expect(weighed('abcd', 6)).toBe(6);
    expect(refusalOf(() => weighed('abcde', 6)).code).toBe('too_large');
  });

  test('accepts the maximum depth and no more', () => {
    expect(weighed(nested(DEPTH_MAX))).toBeGreaterThan(DEPTH_MAX);
    expect(refusalOf(() => weighed(nested(DEPTH_MAX + 1))).what).toContain('deeper than 200');
    expect(refusalOf(() => weighed(nested(100_000))).what).toContain('deeper than 200');
  });

  test('says so when a value contains itself', () => {
    const loop: Record<string, unknown> = { a: { b: [1] } };
    (loop['a'] as Record<string, unknown>)['c'] = loop;
    const refusal = refusalOf(() => weighed({ outer: { loop } }));
    expect(refusal.code).toBe('bad_input');
    expect(refusal.what).toContain('Contains itself');
    expect(refusal.path).toBe('/outer/loop/a');
  });

  test('gives up early on a value that is small in memory and huge as text', () => {
    let value: unknown = 'x';
    for (let level = 0; level < 100; level += 1) value = [value, value];
    expect(refusalOf(() => weighed(value)).code).toBe('too_large');
    expect(refusalOf(() => weighed(Array.from({ length: 2 ** 20 }))).code).toBe('too_large');
    const holes: unknown[] = [];
    holes.length = 2 ** 32 - 1;
    expect(refusalOf(() => weighed(holes)).code).toBe('too_large');
  });
});
