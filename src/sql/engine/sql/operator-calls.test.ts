import { expect, test } from 'vitest';
import { callText, callsIn, withQuotedParameters } from './operator-calls.ts';

test.each([
  [`f((select 1), column => 'a')`, `f((select 1), "column" => 'a')`],
  [`f((select 1),\n column\n:= 'a')`, `f((select 1),\n "column"\n:= 'a')`],
  [`select ' column => ' -- , column => 1`, `select ' column => ' -- , column => 1`],
  [`f((select 1), "column" => 1)`, `f((select 1), "column" => 1)`],
  ['select a >= b, c => d from t', 'select a >= b, "c" => d from t'],
])('quotes the names of parameters, and nothing in strings and comments: %#', (sql, quoted) => {
  expect(withQuotedParameters(sql)).toBe(quoted);
});

/** The input of the call that begins at the given words. */
function inputAt(sql: string, words: string): string | undefined {
  return callText(sql, Buffer.byteLength(sql.slice(0, sql.indexOf(words))))?.input;
}

test('finds the query of a call by its place in bytes, whatever its text contains', () => {
  const sql = `select 'é(' from f((select ')' as "a(b" /* ) */ from t), k => 1) as x`;
  expect(inputAt(sql, 'f((')).toBe(`select ')' as "a(b" /* ) */ from t`);
  const { from, to } = callText(sql, Buffer.byteLength(sql.slice(0, sql.indexOf('f(('))))!;
  expect(sql.slice(from, to)).toBe(`f((select ')' as "a(b" /* ) */ from t), k => 1)`);
  expect(callText('select 1', 7)).toBeNull();
});

test('a query gets the common table expressions that are in scope, and no others', () => {
  const sql = `with a as (select 1 as x), b(y) as (select x from a), c as (select 2)
    select * from f((select y from b)), (with d as (select 3 as z) select * from f((select z, x from d, a))) q`;
  expect(inputAt(sql, 'f((select y')).toBe(
    `WITH a as (select 1 as x), b(y) as (select x from a), c as (select 2)\nSELECT * FROM (\nselect y from b\n)`,
  );
  expect(inputAt(sql, 'f((select z')).toBe(
    `WITH a as (select 1 as x), b(y) as (select x from a), c as (select 2)\nSELECT * FROM (\n` +
      `WITH d as (select 3 as z)\nSELECT * FROM (\nselect z, x from d, a\n)\n)`,
  );
  const inside =
    'with a as (select 1 as x), b as (select * from f((select x from a))) select * from b';
  expect(inputAt(inside, 'f((')).toBe(
    'WITH a as (select 1 as x)\nSELECT * FROM (\nselect x from a\n)',
  );
  expect(inputAt('with a as (select 1) select * from f((select 2))', 'f((')).toBe('select 2');
});

const call = (children: readonly object[], more: object = {}): object => ({
  type: 'TABLE_FUNCTION',
  with_ordinality: 'WITHOUT_ORDINALITY',
  function: { class: 'FUNCTION', function_name: 'f', query_location: 3, children },
  ...more,
});
const QUERY = { class: 'SUBQUERY', subquery: {} };
const named = (alias: string, value: object): object => ({ class: 'CONSTANT', alias, value });
const OPERATORS = new Set(['f']);

test('reads the parameters of a call as JSON', () => {
  const text = { type: { id: 'VARCHAR' }, is_null: false, value: 'x' };
  const decimal = { type: { id: 'DECIMAL', type_info: { scale: 1 } }, is_null: false, value: 15 };
  const tree = call([QUERY, named('a', text), named('b', decimal), named('c', { is_null: true })]);
  expect(callsIn(tree, OPERATORS)).toEqual([
    { name: 'f', at: 3, hasAlias: false, params: { a: 'x', b: 1.5, c: null } },
  ]);
});

test.each([
  [call([{ class: 'COLUMN_REF' }]), 'The first argument of the operator f must be a query'],
  [call([QUERY, { class: 'CONSTANT', value: {} }]), 'A parameter of the operator f has no name'],
  [call([QUERY, { class: 'COLUMN_REF', alias: 'a' }]), "'a' of the operator f must be a constant"],
  [
    call([QUERY, named('a', { is_null: true }), named('a', { is_null: true })]),
    "The parameter 'a' is given twice",
  ],
  [call([QUERY], { with_ordinality: 'WITH_ORDINALITY' }), 'cannot be read WITH ORDINALITY'],
])('refuses a call that is not one: %#', (tree, what) => {
  expect(callsIn(tree, OPERATORS)).toMatchObject({
    code: 'bad_query',
    what: expect.stringContaining(what) as string,
  });
});
