import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Json, JsonObject } from '../json.ts';
import { schemaFault } from './json-schema.ts';

const ORDER: JsonObject = {
  type: 'object',
  properties: {
    id: { type: 'string', minLength: 2 },
    cents: { type: 'integer', exclusiveMinimum: 0 },
    kind: { enum: ['web', 'shop'] },
    lines: { type: 'array', minItems: 1, items: { $ref: '#/$defs/line' } },
    to: {
      anyOf: [{ type: 'object', properties: { street: { type: 'string' } } }, { type: 'null' }],
    },
  },
  required: ['id', 'cents'],
  additionalProperties: false,
  $defs: { line: { type: 'object', required: ['sku'], properties: { sku: { type: 'string' } } } },
};

describe('an input', () => {
  test.each<[string, Json, string, string]>([
    ['that is not an object', 'A-7', '', 'Must be object'],
    ['without a required field', { id: 'A-7' }, '/cents', "The field 'cents' is missing."],
    ['of another type', { id: 'A-7', cents: '5' }, '/cents', 'Must be integer'],
    ['with a fraction', { id: 'A-7', cents: 1.5 }, '/cents', 'Must be integer'],
    ['that is too small', { id: 'A-7', cents: 0 }, '/cents', 'more than 0'],
    ['that is too short', { id: 'A', cents: 1 }, '/id', 'at least 2 characters'],
    ['outside a list of values', { id: 'A-7', cents: 1, kind: 'fax' }, '/kind', '"web", "shop"'],
    ['with an unknown field', { id: 'A-7', cents: 1, color: 1 }, '/color', 'no field'],
    [
      'wrong in a list',
      { id: 'A-7', cents: 1, lines: [{ sku: 'x' }, {}] },
      '/lines/1/sku',
      'missing',
    ],
    ['with too few items', { id: 'A-7', cents: 1, lines: [] }, '/lines', 'at least 1 items'],
    [
      'that fits no alternative',
      { id: 'A-7', cents: 1, to: { street: 5 } },
      '/to/street',
      'string',
    ],
  ])('%s is refused with its path', (_, value, path, words) => {
    const fault = schemaFault(ORDER, value);
    expect(fault?.path).toBe(path);
    expect(fault?.what).toContain(words);
  });

  test.each<[string, JsonObject, Json]>([
    ['a pattern that takes exponential time', { pattern: '^(a+)+$' }, `${'a'.repeat(40)}!`],
    ['a reference to itself', { $ref: '#' }, 1],
    ['a reference outside', { $ref: 'https://example.org/schema' }, 1],
    ['alternatives within alternatives', nested(40), { a: 1 }],
    ['an unknown keyword and type', { type: 'date', frobnicate: true }, 1],
    ['a keyword of the wrong type', { required: 7, properties: 7, anyOf: 7, minimum: 'x' }, {}],
  ])('is not held up by %s', (_, schema, value) => {
    expect(() => schemaFault(schema, value)).not.toThrow();
  });
});

function nested(depth: number): JsonObject {
  const inner: JsonObject = depth === 0 ? { type: 'string' } : nested(depth - 1);
  return depth > 12 ? { anyOf: [inner] } : { anyOf: [inner, inner] };
}

test('never refuses what a complete validator accepts', () => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, ownProperties: true });
  const { schema } = fc.letrec<{ schema: JsonObject }>((tie) => ({
    schema: fc.oneof(
      { maxDepth: 2, withCrossShrink: true },
      fc.record(
        {
          type: fc.constantFrom(
            'string',
            'integer',
            'number',
            'array',
            'object',
            'null',
            'boolean',
          ),
          enum: fc.uniqueArray(fc.oneof(fc.integer({ max: 3 }), fc.constant('a')), {
            minLength: 1,
          }),
          minimum: fc.integer({ min: -3, max: 3 }),
          maxLength: fc.nat(3),
          minItems: fc.nat(2),
        },
        { requiredKeys: [] },
      ),
      fc.record(
        {
          properties: fc.dictionary(fc.constantFrom('a', 'b', '__proto__'), tie('schema')),
          required: fc.uniqueArray(fc.constantFrom('a', 'b', 'toString')),
          additionalProperties: fc.oneof(fc.boolean(), tie('schema')),
          items: tie('schema'),
          prefixItems: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }),
        },
        { requiredKeys: [] },
      ),
      fc.record(
        {
          anyOf: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }),
          oneOf: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }),
          allOf: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }),
        },
        { requiredKeys: [] },
      ),
    ),
  }));
  const values = fc.array(fc.jsonValue({ maxDepth: 2 }), { minLength: 20, maxLength: 20 });
  let accepted = 0;
  fc.assert(
    // To compile a schema is what takes long.
    fc.property(schema, values, (given, each) => {
      const checked = JSON.parse(JSON.stringify(given)) as JsonObject;
      const isValid = ajv.compile(checked);
      const good = each.filter((value) => isValid(value)) as readonly Json[];
      accepted += good.length;
      for (const value of good) expect(schemaFault(checked, value)).toBeNull();
    }),
    { numRuns: 25 },
  );
  expect(accepted).toBeGreaterThan(20);
});
