import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RenewedMap } from './renewed.ts';

test('it holds what a map would hold, in the same order', () => {
  const key = fc.nat(40);
  const act = fc.oneof(
    {
      weight: 2,
      arbitrary: fc.record({ type: fc.constant('set' as const), key, value: fc.nat() }),
    },
    { weight: 3, arbitrary: fc.record({ type: fc.constant('delete' as const), key }) },
  );
  fc.assert(
    fc.property(fc.array(act, { maxLength: 300 }), (acts) => {
      const map = new Map<number, number>();
      const renewed = new RenewedMap<number, number>();
      for (const each of acts) {
        if (each.type === 'delete') expect(renewed.delete(each.key)).toBe(map.delete(each.key));
        else {
          map.set(each.key, each.value);
          renewed.set(each.key, each.value);
        }
        expect(renewed.get(each.key)).toBe(map.get(each.key));
        expect(renewed.has(each.key)).toBe(map.has(each.key));
      }
      expect(renewed.size).toBe(map.size);
      expect([...renewed.entries()]).toEqual([...map]);
      expect([...renewed.keys()]).toEqual([...map.keys()]);
      expect([...renewed.values()]).toEqual([...map.values()]);
    }),
  );
});

test('what comes and goes in turn is forgotten, whatever stays', () => {
  const map = new RenewedMap<number, number>();
  map.set(-1, 0);
  for (let no = 0; no < 1_000; no += 1) {
    map.set(no, no);
    if (no >= 3) expect(map.delete(no - 3)).toBe(true);
  }
  expect([...map.keys()]).toEqual([-1, 997, 998, 999]);
  expect(map.delete(1)).toBe(false);
  expect(map.has(998)).toBe(true);
  map.set(-1, 5);
  expect(map.get(-1)).toBe(5);
  expect(map.size).toBe(4);
});

test('nothing is left of a map that was cleared', () => {
  const map = new RenewedMap<string, number>();
  map.set('a', 1);
  map.set('b', 2);
  map.delete('a');
  map.clear();
  expect([...map.keys()]).toEqual([]);
  map.set('c', 3);
  expect([...map.entries()]).toEqual([['c', 3]]);
});
