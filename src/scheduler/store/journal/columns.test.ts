import fc from 'fast-check';
import { expect, test } from 'vitest';
import { columnsOf, rowsOf } from './columns.ts';

/** As a record has them: written and read as JSON. */
function stored(rows: readonly Readonly<Record<string, unknown>>[]) {
  return columnsOf(rows, Object.keys(rows[0] ?? {}), {});
}
const again = (rows: Parameters<typeof stored>[0]) =>
  rowsOf(JSON.parse(JSON.stringify(stored(rows))) as ReturnType<typeof stored>);

const columnOf = (...values: readonly unknown[]) =>
  stored(values.map((value) => ({ value }))).columns['value'];

/** The ids of a list of jobs. */
const listed = (start: string, count: number) =>
  Array.from({ length: count }, (_, no) => `${start}${no + 5}`);

test('rows come out of columns as they went in, however much or little they have in common', () => {
  const few = fc.constantFrom(null, 'running', 0, 1, true, '');
  const value = fc.oneof(
    few,
    fc.maxSafeInteger(),
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0),
    fc.string({ unit: 'binary' }),
    fc.string({ minLength: 3, maxLength: 3 }).map((end) => `01a1ef6e-${end}`),
    fc.nat(1_000).map((number) => `list.${number}`),
    fc
      .tuple(fc.constantFrom('', 'a', '0', '-'), fc.nat(20))
      .map(([before, no]) => `${before}${no}`),
    fc.array(fc.integer(), { maxLength: 2 }),
  );
  const column = fc.oneof(
    fc.array(value, { minLength: 1, maxLength: 30 }),
    fc.array(few, { minLength: 1, maxLength: 30 }),
    fc.array(fc.maxSafeInteger(), { minLength: 1, maxLength: 30 }),
    fc.array(fc.nat(3), { minLength: 1, maxLength: 30 }),
    fc
      .array(fc.constantFrom('a.', '', '-', '0', '7e'), { minLength: 1, maxLength: 3 })
      .map((starts) => starts.flatMap((start) => listed(start, 10))),
  );
  fc.assert(
    fc.property(fc.array(column, { minLength: 1, maxLength: 4 }), (columns) => {
      const length = Math.min(...columns.map((values) => values.length));
      const rows = Array.from({ length }, (_, at) =>
        Object.fromEntries(columns.map((values, no) => [`c${no}`, values[at]])),
      );
      expect(again(rows)).toEqual(rows);
    }),
  );
});

test('each kind of column has its short form', () => {
  expect(columnOf('a', 'a', 'a')).toEqual({ one: 'a' });
  expect(columnOf([], [])).toEqual({ one: [] });
  expect(columnOf(7, 8, 9, 10, 11, 12, 13, 14)).toEqual({ from: 7, steps: [1, 7] });
  const term = (rows: number, name: string | null) => Array.from({ length: rows }, () => name);
  expect(columnOf(...term(9, null), ...term(7, 'b'))).toEqual({ runs: [null, 9, 'b', 7] });
  expect(columnOf('id-1', 'id-3', 'id-2')).toEqual({ start: 'id-', width: 1, rest: '132' });
  expect(columnOf(...listed('x.', 9), ...listed('y.0', 9))).toEqual({
    before: { runs: ['x.', 9, 'y.0', 9] },
    numbers: { from: 5, steps: [1, 8, -8, 1, 1, 8] },
  });
  const times = [9, 1, 4, 0, 7].map((at) => 1_000_000 + at);
  expect(columnOf(...times)).toEqual({ from: 1_000_009, by: [0, -8, -5, -9, -2] });
});

test('what has no short form is a list', () => {
  for (const values of [
    ['a', 'bc'],
    ['x'.repeat(65), 'y'.repeat(65)],
    [0.5, 0.25],
    [1, null],
    [null, 1_795_018_373_339],
  ]) {
    expect(columnOf(...values)).toEqual(values);
  }
});
