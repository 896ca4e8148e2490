import { expect, test } from 'vitest';
import { digitsOf, parseExactly } from './exact-json.ts';

test('reads what JSON.parse reads', () => {
  for (const text of [
    'null',
    '[1,2.50,"12345678901234567890"]',
    '{"a":{"b":[true]}}',
    '9007199254740991',
  ])
    expect(parseExactly(text)).toEqual(JSON.parse(text));
});

test('an ordinary object is not a number', () => {
  expect(digitsOf({ rawJSON: '1' })).toBeNull();
});
