import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { shapeFault } from '../../scheduler/core/job/signal-shape.ts';
import type { Json } from '../../scheduler/core/index.ts';
import { signalShapeOf } from './signal-shape.ts';

test('what a schema refuses is described as plain data', () => {
  const schema = z.object({
    by: z.string().trim().min(1),
    cents: z.number().int().optional(),
    answer: z.enum(['yes', 'no']),
    place: z.object({ floor: z.number() }).nullable(),
    more: z.object({ why: z.string() }),
    any: z.unknown(),
  });
  expect(signalShapeOf(schema)).toEqual({
    types: ['object'],
    fields: {
      by: { types: ['string'] },
      cents: { types: ['number'] },
      answer: { types: ['string'], texts: ['yes', 'no'] },
      place: { types: ['object', 'null'] },
      more: { types: ['object'], fields: { why: { types: ['string'] } }, required: ['why'] },
    },
    required: ['by', 'answer', 'place', 'more', 'any'],
  });
});

test.each<[string, z.ZodType]>([
  ['an object', z.object({ by: z.string(), n: z.number().optional(), b: z.boolean().nullable() })],
  ['a number that is made of text', z.coerce.number()],
  ['a field that is made of text', z.object({ a: z.coerce.number(), b: z.coerce.string() })],
  ['a mistake that becomes a default', z.object({ a: z.string().catch('x') })],
  ['a default', z.object({ a: z.string().default('x') }).default({ a: 'y' })],
  ['whatever is given', z.unknown()],
  ['a choice', z.union([z.object({ a: z.string() }), z.string(), z.array(z.number())])],
  ['a choice by name', z.discriminatedUnion('a', [z.object({ a: z.literal('b') })])],
  ['a date', z.coerce.date()],
  [
    'something that is read first',
    z.preprocess((given) => ({ a: given }), z.object({ a: z.any() })),
  ],
  ['a record', z.record(z.string(), z.number())],
  ['both of two', z.object({ a: z.string() }).and(z.object({ b: z.unknown() }))],
  ['itself', z.lazy(() => z.object({ a: z.string() }))],
  ['text or what looks like it', z.stringbool()],
])('what a schema takes is never refused for it: %s', (_what, schema) => {
  const shape = signalShapeOf(schema) ?? {};
  const key = fc.constantFrom('a', 'b', 'by', 'n', '');
  const leaf = fc.oneof(fc.constantFrom('b', 'x', '7', 'true', 7, null, false), fc.jsonValue());
  const value = fc.oneof(leaf, fc.array(leaf), fc.dictionary(key, leaf)) as fc.Arbitrary<Json>;
  fc.assert(
    fc.property(value, (given) => {
      if (schema.safeParse(given).success) expect(shapeFault(shape, given)).toBeNull();
    }),
    { numRuns: 300 },
  );
});

test('a converting field is left out, and the others stay', () => {
  const schema = z.object({ n: z.coerce.number(), s: z.string(), d: z.string().default('x') });
  expect(signalShapeOf(schema)).toEqual({
    types: ['object'],
    fields: { s: { types: ['string'] }, d: { types: ['string'] } },
    required: ['n', 's'],
  });
});

test('a library without JSON Schema is ignored', () => {
  const { vendor, version } = z.string()['~standard'];
  const validate = (value: unknown): { readonly value: unknown } => ({ value });
  expect(signalShapeOf({ '~standard': { vendor, version, validate } })).toBeUndefined();
});
