import fc from 'fast-check';
import { expect, test } from 'vitest';
import { PagedMap } from './paged-map.ts';
import { TaskMap } from './row-list.ts';

test('says what a map says, whatever is put in and taken out', () => {
  const key = fc.oneof(fc.nat(200), fc.nat(2 ** 40), fc.constantFrom(2 ** 31, 2 ** 32, 2 ** 48));
  const change = fc.tuple(fc.constantFrom('set', 'delete'), key);
  fc.assert(
    fc.property(fc.array(change, { maxLength: 300 }), (changes) => {
      const map = new Map<number, string>();
      const paged = new PagedMap<number, string>();
      for (const [act, no] of changes) {
        if (act === 'delete') expect(paged.delete(no)).toBe(map.delete(no));
        else {
          map.set(no, `${no}`);
          paged.set(no, `${no}`);
        }
        expect([paged.get(no), paged.has(no), paged.size]).toEqual([
          map.get(no),
          map.has(no),
          map.size,
        ]);
      }
      const rising = (one: number, other: number): number => one - other;
      expect([...paged.keys()].toSorted(rising)).toEqual([...map.keys()].toSorted(rising));
      expect([...paged.values()].toSorted()).toEqual([...map.values()].toSorted());
      const each = new Map<number, string>();
      paged.forEach((value, no) => each.set(no, value));
      expect(each).toEqual(map);
    }),
  );
});

test('a null is a value', () => {
  const map = new PagedMap<number, string | null>();
  map.set(7, null);
  expect([map.get(7), map.has(7), map.has(8), map.size]).toEqual([null, true, false, 1]);
  map.clear();
  expect([map.has(7), map.size]).toEqual([false, 0]);
});

test('tasks of one number in different jobs are kept apart', () => {
  const map = new TaskMap<string>();
  for (const [job, task] of [
    [1, 0],
    [1, 1],
    [2, 0],
    [2, 1],
  ] as const)
    map.set(job, task, `${job}/${task}`);
  expect([map.get(1, 0), map.get(1, 1), map.get(2, 0), map.get(2, 1)]).toEqual([
    ...['1/0', '1/1', '2/0', '2/1'],
  ]);
  expect([map.delete(1, 1), map.delete(1, 1), map.delete(2, 0)]).toEqual([true, false, true]);
  expect([map.get(1, 0), map.get(2, 0), map.get(2, 1)]).toEqual(['1/0', undefined, '2/1']);
});
