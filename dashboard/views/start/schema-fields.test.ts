import { expect, test } from 'vitest';
import { fieldsOf, valueOf } from './schema-fields.ts';

const schema = {
  type: 'object',
  properties: {
    amount: { type: 'integer', description: 'in cents' },
    currency: { enum: ['EUR', 'USD'], default: 'EUR' },
    note: { type: 'string', default: 'none' },
    express: { type: 'boolean' },
    items: { type: 'array', items: { type: 'string' } },
  },
  required: ['amount', 'currency', 'items'],
};
const fields = fieldsOf(schema) ?? [];

test('each property is a field of its kind, with its default', () => {
  expect(
    fields.map(({ name, kind, initial, isRequired }) => [name, kind, initial, isRequired]),
  ).toEqual([
    ['amount', 'integer', '', true],
    ['currency', 'choice', '"EUR"', true],
    ['note', 'text', 'none', false],
    ['express', 'boolean', '', false],
    ['items', 'json', '', true],
  ]);
});

test('texts become a value, and optional fields without text are left out', () => {
  const texts = { amount: '40', items: '["a"]', note: '' };
  expect(valueOf(fields, texts)).toEqual({
    ok: true,
    value: { amount: 40, currency: 'EUR', items: ['a'] },
  });
});

test.each([
  [{ amount: '4.5', items: '[]' }, 'amount', 'amount is not a whole number.'],
  [{ amount: '9007199254740993', items: '[]' }, 'amount', 'amount is not a whole number.'],
  [{ amount: '1' }, 'items', 'items is missing.'],
  [{ amount: '1', items: '[' }, 'items', 'items is not JSON.'],
])('%j is refused at %s', (texts, field, why) => {
  expect(valueOf(fields, texts)).toEqual({ ok: false, field, why });
});

test.each([
  [{}],
  [true],
  [{ type: 'string' }],
  [{ type: 'object' }],
  [{ type: 'object', properties: {} }],
  [{ type: 'object', properties: { a: {} }, anyOf: [] }],
])('%j has no form', (each) => {
  expect(fieldsOf(each)).toBeNull();
});

test('a property with a hostile name is data', () => {
  const hostile = JSON.parse(
    '{"type":"object","properties":{"__proto__":{"type":"string"}}}',
  ) as unknown;
  const read = valueOf(fieldsOf(hostile) ?? [], Object.fromEntries([['__proto__', 'x']]));
  expect(read.ok && Object.entries(read.value)).toEqual([['__proto__', 'x']]);
});
