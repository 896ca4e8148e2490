import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LruCache } from './lru-cache.ts';

const KEYS = ['a', 'b', 'c', 'd', 'e', 'f'];

const held = (cache: LruCache<string, string>): string =>
  KEYS.filter((key) => cache.get(key) !== undefined).join('');

test('drops the entry that was used longest ago', () => {
  const cache = new LruCache<string, string>({ max: 2 });
  cache.set('a', 'x');
  cache.set('b', 'x');
  expect(cache.get('a')).toBe('x');
  cache.set('c', 'x');
  expect(held(cache)).toBe('ac');
});

test('an overwritten entry has the weight of its new value', () => {
  const cache = new LruCache<string, string>({ weightMax: 4, weightOf: ({ length }) => length });
  cache.set('a', 'xxx');
  cache.set('a', 'x');
  cache.set('b', 'xxx');
  expect(held(cache)).toBe('ab');
  cache.delete('b');
  cache.set('c', 'xxx');
  expect(held(cache)).toBe('ac');
});

test('an entry that exceeds the total weight is held alone', () => {
  const cache = new LruCache<string, string>({ weightMax: 4, weightOf: ({ length }) => length });
  cache.set('a', 'x');
  cache.set('b', 'xxxxxxxx');
  expect(held(cache)).toBe('b');
  cache.set('c', 'x');
  expect(held(cache)).toBe('c');
});

test('behaves like a list in order of use under any sequence of calls', () => {
  const act = fc.tuple(fc.constantFrom('get', 'set', 'delete'), fc.constantFrom(...KEYS));
  fc.assert(
    fc.property(fc.array(act, { maxLength: 200 }), fc.integer({ min: 1, max: 4 }), (acts, max) => {
      const cache = new LruCache<string, string>({ max });
      let model: string[] = [];
      for (const [kind, key] of acts) {
        const isKnown = model.includes(key);
        if (kind === 'get') expect(cache.get(key) !== undefined).toBe(isKnown);
        else if (kind === 'set') cache.set(key, 'x');
        else cache.delete(key);
        if (kind === 'get' && !isKnown) continue;
        model = model.filter((each) => each !== key);
        if (kind !== 'delete') model = [...model, key].slice(-max);
        expect(cache.size).toBe(model.length);
      }
      expect(held(cache)).toBe(model.toSorted().join(''));
    }),
  );
});
