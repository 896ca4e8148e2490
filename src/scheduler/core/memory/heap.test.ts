import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ByteColumn, DoubleColumn, ShortColumn, WordColumn } from './column.ts';
import { Heap } from './heap.ts';

const smaller = (a: number, b: number): boolean => a < b;

test('a heap gives back what was put in, smallest first', () => {
  fc.assert(
    fc.property(fc.array(fc.integer()), (items) => {
      const heap = new Heap<number>(smaller);
      for (const item of items) heap.push(item);
      const out = items.map(() => heap.pop());
      expect(out).toEqual(items.toSorted((a, b) => a - b));
      expect(heap.pop()).toBeUndefined();
    }),
  );
});

test('a heap in use always has the smallest on top', () => {
  fc.assert(
    fc.property(fc.array(fc.option(fc.integer())), (moves) => {
      const heap = new Heap<number>(smaller);
      const model: number[] = [];
      for (const move of moves) {
        if (move === null) {
          model.sort((a, b) => a - b);
          expect(heap.pop()).toBe(model.shift());
        } else {
          heap.push(move);
          model.push(move);
        }
        expect(heap.size).toBe(model.length);
        expect(heap.peek()).toBe(model.length === 0 ? undefined : Math.min(...model));
      }
    }),
  );
});

test('what comes in order and what comes between leave in order, however long the line is', () => {
  const heap = new Heap<number>(smaller);
  const model: number[] = [];
  for (let at = 0; at < 1_000; at += 1) {
    // Three come in order, then one that belongs somewhere among them, and two leave.
    for (const item of [at * 4, at * 4 + 1, at * 4 + 2, at * 2 + 0.5]) {
      heap.push(item);
      model.push(item);
    }
    model.sort((a, b) => a - b);
    for (const next of model.splice(0, 2)) expect(heap.pop()).toBe(next);
    expect(heap.size).toBe(model.length);
  }
  for (const next of model) expect(heap.pop()).toBe(next);
  expect(heap.pop()).toBeUndefined();
});

test.each([
  ['bytes', ByteColumn, 255],
  ['shorts', ShortColumn, 65_535],
  ['words', WordColumn, 4_294_967_295],
  ['doubles', DoubleColumn, 1_700_000_000_000.5],
])('a column of %s keeps what fits, and 0 where nothing was written', (_name, Kind, largest) => {
  const column = new Kind();
  column.set(3, largest);
  column.set(100_000, 7);
  expect(column.get(3)).toBe(largest);
  expect(column.get(100_000)).toBe(7);
  expect(column.get(99_999)).toBe(0);
  expect(column.get(10_000_000)).toBe(0);
});

test('an item that came last and is the last in order is taken out again', () => {
  const heap = new Heap<number>((a, b) => a < b);
  for (const each of [3, 1, 2]) heap.push(each);
  expect(heap.dropLast(1)).toBe(false);
  heap.push(9);
  expect(heap.dropLast(9)).toBe(true);
  expect([heap.pop(), heap.pop(), heap.pop(), heap.pop()]).toEqual([1, 2, 3, undefined]);
});
