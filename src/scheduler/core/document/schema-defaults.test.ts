import { expect, test } from 'vitest';
import type { Json } from '../json.ts';
import { withDefaults } from './schema-defaults.ts';

const text = { type: 'string', default: 'none' };
const schema = {
  type: 'object',
  properties: { a: text, b: { type: 'object', properties: { c: text } }, d: { default: null } },
};

test.each<[string, Json, Json, Json]>([
  ['fields that are missing', schema, {}, { a: 'none', d: null }],
  ['not what is there', schema, { a: null, d: 1 }, { a: null, d: 1 }],
  ['objects in objects', schema, { b: {} }, { b: { c: 'none' }, a: 'none', d: null }],
  ['not what is of another type', schema, { b: [{}] }, { b: [{}], a: 'none', d: null }],
  ['a whole that is missing', { ...schema, default: { a: 'x' } }, null, { a: 'x', d: null }],
  ['null where there is no default', schema, null, null],
  ['nothing in a list', { items: schema }, [{}], [{}]],
  ['nothing by a schema that is none', true, {}, {}],
  ['own fields only', { properties: { toString: text } }, {}, { toString: 'none' }],
])('fills %s', (_what, given, input, filled) => {
  expect(withDefaults(given, input)).toEqual(filled);
});

test('a field of the name __proto__ is a field', () => {
  const given = JSON.parse('{"properties": {"__proto__": {"default": {"x": 1}}}}') as Json;
  const made = withDefaults(given, {});
  expect(JSON.stringify(made)).toBe('{"__proto__":{"x":1}}');
  expect(({} as { readonly x?: number }).x).toBeUndefined();
});

test('a schema of any depth is read to a limit', () => {
  let deep: Json = text;
  let input: Json = {};
  for (let at = 0; at < 5_000; at += 1) {
    deep = { properties: { a: deep } };
    input = { a: input };
  }
  expect(() => withDefaults(deep, input)).not.toThrow();
});
