import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { described, jsonStringBytes, nameFault, printable, utf8Bytes, wellFormed } from './text.ts';

const anyText = fc.string({ unit: 'binary' });
/** Any UTF-16 units at all, lone surrogates included. */
const anyUnits = fc
  .array(fc.integer({ min: 0, max: 0xffff }))
  .map((units) => String.fromCharCode(...units));

describe('text', () => {
  test('the length in UTF-8 is what an encoder gives', () => {
    fc.assert(
      fc.property(fc.oneof(anyText, anyUnits), (text) => {
        expect(utf8Bytes(text)).toBe(new TextEncoder().encode(text).length);
      }),
    );
  });

  test('the length as a JSON string is what JSON.stringify gives', () => {
    fc.assert(
      fc.property(fc.oneof(anyText, anyUnits, fc.string()), (text) => {
        expect(jsonStringBytes(text)).toBe(utf8Bytes(JSON.stringify(text)));
      }),
    );
  });

  test('text is well formed exactly when encoding it loses nothing', () => {
    fc.assert(
      fc.property(fc.oneof(anyText, anyUnits), (text) => {
        const kept = new TextDecoder('utf-8', { ignoreBOM: true }).decode(
          new TextEncoder().encode(text),
        );
        expect(wellFormed(text)).toBe(kept === text);
      }),
    );
  });

  test.each([
    ['', 'is empty'],
    ['a\u0000b', 'contains a control character'],
    ['line\nbreak', 'contains a control character'],
    ['\uD83D', 'contains an unpaired surrogate'],
    ['x'.repeat(201), 'is 201 characters long; the limit is 200'],
    ['Größe 😀', null],
  ])('the name %j has the fault %j', (name, fault) => {
    expect(nameFault(name)).toBe(fault);
  });

  test('what is shown of a bad text can itself be stored and shown', () => {
    fc.assert(
      fc.property(fc.oneof(anyText, anyUnits), fc.nat(10), (text, lengthMax) => {
        const shown = printable(text, lengthMax);
        expect(wellFormed(shown)).toBe(true);
        expect(shown.includes('\u0000')).toBe(false);
        expect(shown.length).toBeLessThanOrEqual(lengthMax + 3);
      }),
    );
  });

  test('values are described in words', () => {
    const values = [null, undefined, [], {}, 'a', 1.5, NaN, true, 7n, () => 1, Symbol('s')];
    expect(values.map(described)).toEqual([
      'null',
      'undefined',
      'a list',
      'an object',
      "'a'",
      '1.5',
      'NaN',
      'true',
      'the bigint 7n',
      'a function',
      'a symbol',
    ]);
  });
});
