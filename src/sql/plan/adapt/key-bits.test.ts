import { describe, expect, test } from 'vitest';
import { bitCount, isBitText, mergedBits, shareOfBits } from './key-bits.ts';

/** A bitmap of this many bits with these set, as DuckDB writes it: the first bit is the highest of the first byte. */
function bitmap(size: number, set: readonly number[]): string {
  const bytes = Buffer.alloc(size / 8);
  for (const at of set) bytes[at >> 3] = (bytes[at >> 3] ?? 0) | (0x80 >> (at & 7));
  return bytes.toString('base64');
}

describe('the length of a bitmap', () => {
  test('is a power of two with about eight bits for each key of all tasks', () => {
    expect([1, 1_024, 1_025, 4_000].map((keys) => bitCount(keys, 1))).toEqual([
      ...[8_192, 8_192, 16_384, 32_768],
    ]);
    expect(bitCount(1_025, 4)).toBe(65_536);
  });

  test('has a bound for a filter, and one for all tasks together', () => {
    expect(bitCount(100_000, 1)).toBe(2 ** 18);
    expect([bitCount(131_072, 1), bitCount(131_073, 1)]).toEqual([2 ** 18, null]);
    expect([bitCount(500, 64), bitCount(513, 64)]).toEqual([2 ** 16, null]);
  });

  test('is checked in what a worker reports', () => {
    expect(isBitText(bitmap(8_192, [5]))).toBe(true);
    expect(isBitText(bitmap(2 ** 18, []))).toBe(true);
    const wrong = [bitmap(4_096, []), bitmap(2 ** 19, []), bitmap(8_192, []).slice(4), '', 'AAAA'];
    expect(wrong.filter(isBitText)).toEqual([]);
    expect(isBitText(bitmap(8_192, []).replace('A', "'"))).toBe(false);
  });
});

describe('several bitmaps', () => {
  test('become one that has the keys of each', () => {
    const merged = mergedBits([bitmap(8_192, [0, 9, 8_191]), bitmap(8_192, [9, 77])]);
    expect(merged).toEqual({ text: bitmap(8_192, [0, 9, 77, 8_191]), bits: 8_192 });
    expect(shareOfBits(merged)).toBeCloseTo(4 / 8_192, 12);
  });

  test('of different lengths keep the keys of the shorter one, whatever the rest of their hash is', () => {
    const merged = mergedBits([bitmap(8_192, [3, 4_100]), bitmap(16_384, [8_200])]);
    expect(merged).toEqual({
      text: bitmap(16_384, [3, 4_100, 8_195, 8_200, 12_292]),
      bits: 16_384,
    });
  });
});
