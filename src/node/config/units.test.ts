import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseBytes, parseMs, showBytes, showMs } from './units.ts';

test.each<[unknown, number | undefined]>([
  [1500, 1500],
  ['1500', 1500],
  ['1500ms', 1500],
  ['1.5s', 1500],
  ['1.1 s', 1100],
  ['10m', 600_000],
  ['2H', 7_200_000],
  ['7d', 604_800_000],
  ['2h30m', 9_000_000],
  ['1w', 604_800_000],
  ['-10m', -600_000],
  ['0', 0],
  ['1.5', undefined],
  [1.5, undefined],
  ['0.1ms', undefined],
  ['10 minutes', undefined],
  ['10M B', undefined],
  ['', undefined],
  ['s', undefined],
  ['1e3', undefined],
  ['9007199254740993', undefined],
  [true, undefined],
  [null, undefined],
])('as a duration %j is %j', (raw, ms) => {
  expect(parseMs(raw)).toBe(ms);
});

test.each<[unknown, number | undefined]>([
  [65536, 65536],
  ['64KiB', 65536],
  ['64 kib', 65536],
  ['1GB', 1e9],
  ['1.5MiB', 1_572_864],
  ['512B', 512],
  ['1TiB', 2 ** 40],
  ['64K', undefined],
  ['10s', undefined],
  ['1.0001B', undefined],
])('as a size %j is %j', (raw, bytes) => {
  expect(parseBytes(raw)).toBe(bytes);
});

test('a value that is shown parses to the same value', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2 ** 40 }), (value) => {
      expect(parseMs(showMs(value))).toBe(value);
      expect(parseBytes(showBytes(value).replace(' bytes', 'B'))).toBe(value);
    }),
  );
  expect([showMs(20_000), showMs(604_800_000), showMs(1_500), showMs(0)]).toEqual([
    '20s',
    '7d',
    '1500ms',
    '0',
  ]);
  expect([showBytes(16 * 2 ** 20), showBytes(1_000)]).toEqual(['16MiB', '1000 bytes']);
});
