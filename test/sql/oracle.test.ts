import { DuckDBInstance } from '@duckdb/node-api';
import { expect, onTestFinished, test } from 'vitest';
import { difference } from './compare.ts';
import { cellOf } from './contract-values.ts';
import type { Answer, Cell } from './contract-values.ts';
import { Oracle, withoutLimit } from './oracle.ts';
import type { Leeway } from './oracle.ts';

const answer = (types: readonly string[], rows: readonly (readonly Cell[])[]): Answer => ({
  columns: types.map((type, at) => ({ name: `c${at}`, type })),
  rows,
});

const numbers = (...rows: number[]): Answer =>
  answer(
    ['INTEGER'],
    rows.map((row) => [row]),
  );

const judged = (own: Answer, given: Answer, leeway: Leeway = {}): string | null =>
  difference(own, given, leeway, null);

test('values are written as DuckDB casts them to text', async () => {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  onTestFinished(() => {
    connection.closeSync();
    instance.closeSync();
  });
  await connection.run("SET TimeZone = 'UTC'");
  const values = [
    ...[
      "DATE '0044-03-15'",
      "'infinity'::DATE",
      "'-infinity'::TIMESTAMP",
      "TIME '01:02:03.000004'",
    ],
    ...["TIMESTAMP '1969-12-31 23:59:59.5'", "TIMESTAMPTZ '2024-06-01 12:00:00+02'"],
    ...["INTERVAL '1 year 2 months 3 days 04:05:06.7'", "INTERVAL '-1 day'", 'INTERVAL 0 SECOND'],
    ...["'00000000-0000-4000-8000-000000000001'::UUID", '9223372036854775807::BIGINT'],
    ...['-170141183460469231731687303715884105727::HUGEINT', '1.50::DECIMAL(9, 2)'],
    ...["'101'::BIT", "'b'::ENUM('a', 'b')", "TIMETZ '01:02:03+05:30'"],
    ...["'2024-01-01 00:00:00.123456789'::TIMESTAMP_NS", "'2024-01-01 00:00:01'::TIMESTAMP_S"],
  ];
  for (const value of values) {
    const reader = await connection.runAndReadAll(`SELECT ${value}, (${value})::VARCHAR`);
    const row = reader.getRows()[0]!;
    expect([value, cellOf(row[0]!)]).toEqual([value, row[1]]);
  }
});

test('values that are no text follow the contract', async () => {
  const oracle = await Oracle.open({});
  onTestFinished(() => oracle.close());
  const { rows } = await oracle.answer(
    `SELECT true, 1::TINYINT, 1.5::DOUBLE, 'NaN'::DOUBLE, '-inf'::FLOAT, 'ab'::BLOB, NULL::INTEGER, [1, NULL]::BIGINT[],
       {'a': 1, 'b': 'x'}, MAP {'k': 1.5::DECIMAL(3, 1)}, [1, 2]::INTEGER[2], union_value(n := 1)`,
  );
  expect(rows[0]).toEqual([
    ...[true, 1, 1.5, 'NaN', '-Infinity', 'YWI=', null, ['1', null]],
    ...[{ a: 1, b: 'x' }, [{ key: 'k', value: '1.5' }], [1, 2], { tag: 'n', value: 1 }],
  ]);
});

test('rows without an order are compared as a bag', () => {
  expect(judged(numbers(1, 2, 2), numbers(2, 1, 2))).toBeNull();
  expect(judged(numbers(1, 2, 2), numbers(2, 1, 1))).toContain('[1]');
  expect(judged(numbers(1, 2), numbers(1, 2, 2))).toContain('2 rows');
  expect(judged(numbers(1, 2), numbers(1))).toContain('2 rows');
});

test('ordered rows have their order, and ties are bags', () => {
  const own = answer(
    ['INTEGER', 'VARCHAR'],
    [
      [1, 'a'],
      [1, 'b'],
      [2, 'c'],
    ],
  );
  const swapped = answer(
    ['INTEGER', 'VARCHAR'],
    [
      [1, 'b'],
      [1, 'a'],
      [2, 'c'],
    ],
  );
  const wrong = answer(
    ['INTEGER', 'VARCHAR'],
    [
      [1, 'a'],
      [2, 'c'],
      [1, 'b'],
    ],
  );
  const moved = answer(
    ['INTEGER', 'VARCHAR'],
    [
      [1, 'a'],
      [1, 'c'],
      [2, 'b'],
    ],
  );
  expect(judged(own, swapped, { order: [1] })).toBeNull();
  expect(judged(own, wrong, { order: [1] })).toContain('out of order');
  expect(judged(own, moved, { order: [1] })).not.toBeNull();
  expect(judged(own, swapped, { order: [1, 2] })).toContain('out of order');
});

test('rows at a limit may be any of the equal ones, and no others', () => {
  const whole = answer(
    ['INTEGER', 'VARCHAR'],
    [
      [1, 'a'],
      [2, 'b'],
      [2, 'c'],
      [3, 'd'],
    ],
  );
  const own = answer(
    ['INTEGER', 'VARCHAR'],
    [
      [1, 'a'],
      [2, 'b'],
    ],
  );
  const given = (row: readonly Cell[]): Answer => answer(['INTEGER', 'VARCHAR'], [[1, 'a'], row]);
  const leeway = { order: [1], ties: true };
  expect(difference(own, given([2, 'c']), leeway, whole)).toBeNull();
  expect(difference(own, given([2, 'd']), leeway, whole)).not.toBeNull();
  expect(difference(own, given([3, 'd']), leeway, whole)).toContain('out of order');
  expect(withoutLimit('SELECT 1 ORDER BY 1 LIMIT 5 OFFSET 2;')).toBe('SELECT 1 ORDER BY 1');
  expect(() => withoutLimit('SELECT 1')).toThrow('no LIMIT');
});

test('floats may differ in their last digits, everything else may not', () => {
  const of = (type: string, value: Cell): Answer => answer([type], [[value]]);
  expect(judged(of('DOUBLE', 1), of('DOUBLE', 1 + 1e-10))).toBeNull();
  expect(judged(of('DOUBLE', 1), of('DOUBLE', 1 + 1e-8))).not.toBeNull();
  expect(judged(of('DOUBLE', 0), of('DOUBLE', 1e-12))).not.toBeNull();
  expect(judged(of('DOUBLE', 0), of('DOUBLE', 1e-12), { floor: 1e-9 })).toBeNull();
  expect(judged(of('FLOAT', 1), of('FLOAT', 1 + 1e-7))).toBeNull();
  expect(judged(of('DOUBLE', 'NaN'), of('DOUBLE', null))).not.toBeNull();
  expect(judged(of('DECIMAL(9,2)', '1.00'), of('DECIMAL(9,2)', '1.0'))).not.toBeNull();
  expect(judged(of('DOUBLE[]', [1, 2]), of('DOUBLE[]', [1, 2 + 1e-10]))).toBeNull();
  expect(judged(of('DOUBLE[]', [1, 2]), of('DOUBLE[]', [2, 1]))).not.toBeNull();
});

test('each float is compared with the nearest one', () => {
  const own = answer(['DOUBLE'], [[1], [1 + 8e-10], [5]]);
  const given = answer(['DOUBLE'], [[1 + 9e-10], [5 + 1e-11], [1 + 1e-12]]);
  expect(judged(own, given)).toBeNull();
});

test('names and types of the columns are part of the answer', () => {
  expect(judged(numbers(1), answer(['BIGINT'], [[1]]))).toContain('columns');
  const named = { columns: [{ name: 'other', type: 'INTEGER' }], rows: [[1]] };
  expect(judged(numbers(1), named)).toContain('columns');
  const quoted = answer(['STRUCT("a" INTEGER, "b" VARCHAR)'], []);
  expect(judged(quoted, answer(['STRUCT(a INTEGER, b VARCHAR)'], []))).toBeNull();
});

test('unordered lists, open values and times are compared with tolerance', () => {
  const lists = (list: Cell): Answer => answer(['INTEGER[]'], [[list]]);
  expect(judged(lists([1, 2]), lists([2, 1]))).not.toBeNull();
  expect(judged(lists([1, 2]), lists([2, 1]), { bags: [1] })).toBeNull();
  expect(judged(lists([1, 2]), lists([2, 2]), { bags: [1] })).not.toBeNull();
  expect(judged(numbers(1), numbers(2), { open: [1] })).toBeNull();
  expect(judged(numbers(1), answer(['INTEGER'], [[null]]), { open: [1] })).not.toBeNull();
  const moment = (text: string): Answer => answer(['TIMESTAMP WITH TIME ZONE'], [[text]]);
  expect(judged(moment('2024-06-01 12:00:00+00'), moment('2024-06-01 14:00:00+02'))).toBeNull();
  expect(
    judged(moment('2024-06-01 12:00:00.5+00'), moment('2024-06-01 12:00:00+00')),
  ).not.toBeNull();
});
