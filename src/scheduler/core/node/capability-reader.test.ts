import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { refusalOf } from '../../../../test/rig/refusal.ts';
import { isMillraceError } from '../errors.ts';
import { parseCapabilities } from './capability-reader.ts';

describe("a node's capabilities", () => {
  test('are text, numbers, flags and lists', () => {
    const value = { gpu: 'nvidia', cpu_cores: 8, ssd: true, tags: ['a', 1], none: [], empty: '' };
    expect(parseCapabilities(value)).toEqual(value);
  });

  test('are copied', () => {
    const tags = ['a'];
    const read = parseCapabilities({ tags });
    tags.push('b');
    expect(read).toEqual({ tags: ['a'] });
  });

  test.each([
    ['null', null, undefined, 'must be an object'],
    ['a list', [], undefined, 'must be an object'],
    ['a null value', { gpu: null }, '/gpu', 'null is not a valid capability value'],
    ['an object as value', { gpu: { kind: 'x' } }, '/gpu', 'an object is not'],
    ['NaN', { cpu: NaN }, '/cpu', 'NaN is not'],
    ['a flag in a list', { tags: ['a', true] }, '/tags/1', 'true is not'],
    ['a NUL', { gpu: 'a\0' }, '/gpu', 'control character'],
    ['an empty name', { '': 1 }, '/', 'is empty'],
    ['a long name', { ['x'.repeat(201)]: 1 }, `/${'x'.repeat(200)}...`, '201 characters'],
    ['a long list', { tags: Array.from({ length: 1_001 }, () => 1) }, '/tags', '1001 entries'],
  ])('are refused for %s', (_, value, path, words) => {
    const refusal = refusalOf(() => parseCapabilities(value));
    expect(refusal).toMatchObject({ code: 'bad_input', path });
    expect(refusal.what).toContain(words);
  });

  test('are bounded in number and in size', () => {
    const many = Object.fromEntries(Array.from({ length: 1_001 }, (_, at) => [`c${at}`, at]));
    expect(refusalOf(() => parseCapabilities(many)).code).toBe('too_large');
    const large = { tags: Array.from({ length: 500 }, () => 'x'.repeat(200)) };
    expect(refusalOf(() => parseCapabilities(large)).code).toBe('too_large');
  });

  test('are read or refused, whatever comes', () => {
    fc.assert(
      fc.property(fc.anything({ withBigInt: true, withSparseArray: true }), (value) => {
        try {
          const read = parseCapabilities(value, '/capabilities');
          expect(parseCapabilities(JSON.parse(JSON.stringify(read)))).toEqual(read);
        } catch (error) {
          if (!isMillraceError(error)) throw error;
          expect(error.path).toMatch(/^\/capabilities/);
        }
      }),
    );
  });
});
