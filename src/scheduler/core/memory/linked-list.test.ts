import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LinkedList, Place } from './linked-list.ts';

class Item {
  readonly place: Place<Item> = new Place();
}

const items = (count: number): readonly Item[] => Array.from({ length: count }, () => new Item());

test('items stand in the order in which they came, as in a set', () => {
  const some = items(6);
  const act = fc.record({ no: fc.nat(5), isComing: fc.boolean() });
  fc.assert(
    fc.property(fc.array(act, { maxLength: 60 }), (acts) => {
      const [set, list] = [new Set<Item>(), new LinkedList<Item>()];
      for (const { no, isComing } of acts) {
        const item = some[no]!;
        if (isComing) list.add(item);
        else expect(list.delete(item)).toBe(set.has(item));
        if (isComing) set.add(item);
        else set.delete(item);
        expect(list.all()).toEqual([...set]);
        expect(list.has(item)).toBe(isComing);
        expect(list.size).toBe(set.size);
        expect(list.first).toBe([...set][0] ?? null);
      }
      for (const item of set) list.delete(item);
    }),
  );
});

test('what stands in one list is not in another', () => {
  const [item] = items(1) as [Item];
  const [here, there] = [new LinkedList<Item>(), new LinkedList<Item>()];
  here.add(item);
  expect(there.has(item)).toBe(false);
  there.delete(item);
  expect(here.has(item)).toBe(true);
});
