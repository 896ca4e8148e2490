import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Json } from '../json.ts';
import { pointedAt, pointerTokens } from './pointer.ts';

const at = (value: Json, pointer: string): Json | undefined =>
  pointedAt(value, pointerTokens(pointer) ?? expect.fail(`${pointer} is malformed`));

describe('a JSON Pointer', () => {
  // The example of RFC 6901, section 5.
  const sample = {
    foo: ['bar', 'baz'],
    '': 0,
    'a/b': 1,
    'c%d': 2,
    'e^f': 3,
    'g|h': 4,
    'i\\j': 5,
    'k"l': 6,
    ' ': 7,
    'm~n': 8,
  };

  test.each([
    ['', sample],
    ['/foo', ['bar', 'baz']],
    ['/foo/0', 'bar'],
    ['/', 0],
    ['/a~1b', 1],
    ['/c%d', 2],
    ['/e^f', 3],
    ['/g|h', 4],
    ['/i\\j', 5],
    ['/k"l', 6],
    ['/ ', 7],
    ['/m~0n', 8],
  ] as const)('%j finds %j as the standard says', (pointer, expected) => {
    expect(at(sample, pointer)).toEqual(expected);
  });

  test('~01 is the key ~1 and not a slash', () => {
    expect(at({ '~1': 'yes', '/': 'no' }, '/~01')).toBe('yes');
  });

  test.each([
    '/foo/2',
    '/foo/-',
    '/foo/01',
    '/foo/1e0',
    '/foo/length',
    '/bar',
    '/foo/0/x',
    '/constructor',
    '/__proto__',
  ])('%j names no place in it', (pointer) => {
    expect(at(sample, pointer)).toBeUndefined();
  });

  test('null is a place, and nothing is below it', () => {
    expect(at({ a: null }, '/a')).toBeNull();
    expect(at({ a: null }, '/a/b')).toBeUndefined();
  });

  test.each(['foo', '#/foo', '/a~', '/a~2b', ' /a'])('%j is malformed', (pointer) => {
    expect(pointerTokens(pointer)).toBeNull();
  });

  test('finds every place of any value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        for (const [pointer, part] of places(value as Json, '')) {
          expect(at(value as Json, pointer)).toBe(part);
        }
      }),
    );
  });
});

function* places(value: Json, pointer: string): Generator<[string, Json]> {
  yield [pointer, value];
  if (value === null || typeof value !== 'object') return;
  for (const [key, part] of Object.entries(value)) {
    yield* places(part, `${pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`);
  }
}
