import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jsonFaultAt, lineAndColumn } from './json-fault.ts';

test.each([
  ['', 0],
  ['   ', 3],
  ['{', 1],
  ['{"a":1', 6],
  ['{"a" 1}', 5],
  ['{"a":1,}', 7],
  ['{a:1}', 1],
  ['[1 2]', 3],
  ['[1,]', 3],
  ['[1}', 2],
  ['nul', 0],
  ['01', 0],
  ['"abc', 4],
  ['"a\\x"', 2],
  ['"a\nb"', 2],
  ['1 2', 2],
  ['{"a":1}]', 7],
  ['["a",tru]', 5],
])('%j goes wrong at %i', (text, at) => {
  expect(jsonFaultAt(text)).toBe(at);
});

test('positions are counted as an editor does', () => {
  expect(lineAndColumn('{\n  "a": x', 9)).toBe('line 2, column 8');
  expect(lineAndColumn('x', 0)).toBe('line 1, column 1');
});

test('valid JSON has no fault, and a fault is within the text', () => {
  const pieces = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"a"',
    '1',
    'null',
    ' ',
    '-',
    '"',
    '\\',
  );
  const texts = fc.oneof(
    fc.json(),
    fc.array(pieces, { maxLength: 8 }).map((each) => each.join('')),
  );
  fc.assert(
    fc.property(texts, (text) => {
      let isJson = true;
      try {
        JSON.parse(text);
      } catch {
        isJson = false;
      }
      const at = jsonFaultAt(text);
      expect(at).toBeLessThanOrEqual(text.length);
      if (isJson) expect(at).toBe(text.length);
    }),
    { numRuns: 2_000 },
  );
});

test('a string of megabytes does not overflow the stack', () => {
  const long = `{"a":"${'x'.repeat(5_000_000)}`;
  expect(jsonFaultAt(long)).toBe(long.length);
});
