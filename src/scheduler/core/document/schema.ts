/**
 * The grammar of job documents as JSON Schema (2020-12), for editors and other people's tools. A schema cannot say
 * everything that the reader checks: that a dependency is there, that nothing waits for itself.
 */
import { ID_LENGTH_MAX } from '../ids.ts';
import type { Json, JsonObject } from '../json.ts';
import { OPERATORS, OUTCOMES, type Operator } from './document.ts';
import { FIELD_LENGTH_MAX, MATCH_FIELDS_MAX } from './event-match.ts';
import * as grammars from './grammar.ts';
import type { Field, Grammar, NamedType } from './grammar.ts';
import { LABELS_MAX, LABEL_KEY, LABEL_KEY_LENGTH_MAX, LABEL_VALUE_LENGTH_MAX } from './labels.ts';
import { NAMES_MAX } from './reader.ts';
import { MISSING } from './template.ts';
import { NAME_LENGTH_MAX } from './text.ts';
import { URL_LENGTH_MAX, WEB_URL } from './webhooks.ts';

/** Names and labels contain no control characters. */
const TEXT = '^[^\\u0000-\\u001f\\u007f-\\u009f]*$';
const ID = '^[A-Za-z0-9_][A-Za-z0-9_.:@+=-]*$';
const MOMENT =
  '^\\d{4}-\\d{2}-\\d{2}[Tt ]\\d{2}:\\d{2}:\\d{2}(?:\\.\\d{1,9})?(?:[Zz]|[+-]\\d{2}:\\d{2})$';
const POINTER = '^(?:/(?:[^~/]|~[01])*)*$';

const ref = (name: string): JsonObject => ({ $ref: `#/$defs/${name}` });

/** An object with the fields of the grammar and no others. */
function objectOf({ doc, fields }: Grammar): JsonObject {
  const required = Object.keys(fields).filter((name) => fields[name]?.required === true);
  return {
    type: 'object',
    description: doc,
    properties: Object.fromEntries(
      Object.entries(fields).map(([name, field]) => [name, described(field)]),
    ),
    ...(required.length === 0 ? {} : { required }),
    additionalProperties: false,
  };
}

function described(field: Field): Json {
  const schema = schemaOf(field);
  const usual = field.default === undefined ? '' : ` Default: ${field.default}.`;
  const description = `${field.doc ?? ''}${usual}`.trim();
  return description === '' ? schema : { ...schema, description };
}

function schemaOf(field: Field): JsonObject {
  switch (field.type) {
    case 'any':
      return {};
    case 'flag':
      return { type: 'boolean' };
    case 'whole':
      return { type: 'integer', minimum: field.min, maximum: field.max };
    case 'choice':
      return { enum: [...field.of] };
    case 'record':
      return objectOf(field.grammar);
    case 'list':
      return listOf(field.items === 'any' ? {} : ref(field.items), field.minItems);
    case 'names':
      return { ...listOf(ref(field.items), field.minItems), maxItems: NAMES_MAX };
    case 'oneOrMany':
      return { anyOf: [ref(field.items), listOf(ref(field.items))] };
    case 'map':
      return {
        type: 'object',
        maxProperties: NAMES_MAX,
        propertyNames: ref('name'),
        additionalProperties: ref(field.values),
      };
    case 'capabilityTest':
    case 'comparable':
    case 'condition':
    case 'dependency':
    case 'id':
    case 'labels':
    case 'limit':
    case 'moment':
    case 'name':
    case 'outcome':
    case 'pointer':
    case 'task':
    case 'template':
    case 'url':
    case 'webhook':
    case 'cancel':
    case 'eventMatch':
      return ref(field.type);
  }
}

function listOf(items: JsonObject, minItems = 0): JsonObject {
  return { type: 'array', items, ...(minItems === 0 ? {} : { minItems }) };
}

function operand(operator: Operator): JsonObject {
  switch (operator) {
    case '=':
    case '!=':
      return ref('capabilityValue');
    case 'in':
      return ref('capabilityList');
    case 'has':
      return { anyOf: [ref('capabilityScalar'), ref('capabilityList')] };
    case '>':
    case '>=':
    case '<':
    case '<=':
      return { type: 'number' };
  }
}

const CAPABILITIES: JsonObject = {
  capabilityTest: {
    anyOf: [
      ref('capabilityValue'),
      {
        type: 'object',
        description: 'Tests that must all hold.',
        properties: Object.fromEntries(OPERATORS.map((operator) => [operator, operand(operator)])),
        minProperties: 1,
        additionalProperties: false,
      },
    ],
  },
  capabilityValue: {
    anyOf: [ref('capabilityScalar'), { type: 'boolean' }, ref('capabilityList')],
  },
  capabilityScalar: {
    anyOf: [{ type: 'string', maxLength: NAME_LENGTH_MAX, pattern: TEXT }, { type: 'number' }],
  },
  capabilityList: { ...listOf(ref('capabilityScalar'), 1), maxItems: NAMES_MAX },
};

function condition(): JsonObject {
  const ends: readonly string[] = grammars.ENDS;
  const tests = [...grammars.COMPARISONS, ...ends];
  const excludedBy = (test: string): readonly string[] => {
    const others = tests.filter((each) => each !== test);
    return ends.includes(test) ? [...others, 'path'] : others;
  };
  return {
    ...objectOf(grammars.CONDITION),
    dependentSchemas: Object.fromEntries(
      tests.map((test) => [
        test,
        { not: { anyOf: excludedBy(test).map((other) => ({ required: [other] })) } },
      ]),
    ),
  };
}

const TEMPLATE: JsonObject = {
  description: 'JSON in which {"$from": task, "path": pointer} stands for a part of a result.',
  if: { type: 'object', required: ['$from'] },
  // oxlint-disable-next-line unicorn/no-thenable -- a word of JSON Schema
  then: ref('reference'),
  else: {
    if: { type: 'object', required: ['$literal'] },
    // oxlint-disable-next-line unicorn/no-thenable -- a word of JSON Schema
    then: ref('literal'),
    else: {
      anyOf: [
        { type: 'object', additionalProperties: ref('template') },
        listOf(ref('template')),
        ...['string', 'number', 'boolean', 'null'].map((type) => ({ type })),
      ],
    },
  },
};

const named: Readonly<Record<NamedType, JsonObject>> & JsonObject = {
  name: { type: 'string', minLength: 1, maxLength: NAME_LENGTH_MAX, pattern: TEXT },
  id: { type: 'string', minLength: 1, maxLength: ID_LENGTH_MAX, pattern: ID },
  pointer: { type: 'string', pattern: POINTER, description: "A JSON Pointer, '/body/rows/0'." },
  task: objectOf(grammars.TASK),
  limit: objectOf(grammars.LIMIT),
  webhook: objectOf(grammars.WEBHOOK),
  cancel: objectOf(grammars.CANCEL),
  eventMatch: {
    type: 'object',
    minProperties: 1,
    maxProperties: MATCH_FIELDS_MAX,
    propertyNames: { maxLength: FIELD_LENGTH_MAX },
    additionalProperties: {
      anyOf: ['string', 'number', 'boolean', 'null'].map((type) => ({ type })),
    },
    description: "Fields of the event's data, such as order.id, and the value that each must have.",
  },
  url: { type: 'string', maxLength: URL_LENGTH_MAX, pattern: WEB_URL },
  outcome: { enum: [...OUTCOMES] },
  dependency: { anyOf: [ref('id'), objectOf(grammars.DEPENDENCY)] },
  condition: condition(),
  comparable: { anyOf: [{ type: 'number' }, { type: 'string' }] },
  template: TEMPLATE,
  capabilityTest: {},
  labels: {
    type: 'object',
    maxProperties: LABELS_MAX,
    propertyNames: { maxLength: LABEL_KEY_LENGTH_MAX, pattern: LABEL_KEY },
    additionalProperties: { type: 'string', maxLength: LABEL_VALUE_LENGTH_MAX, pattern: TEXT },
  },
  moment: {
    anyOf: [{ type: 'string', pattern: MOMENT }, { type: 'integer' }],
    description: "'2026-11-15T02:00:00Z', with Z or an offset, or milliseconds since 1970.",
  },
  ...CAPABILITIES,
  reference: {
    type: 'object',
    description: 'A part of a result.',
    properties: {
      $from: { ...ref('id'), description: 'The task.' },
      path: ref('pointer'),
      error: {
        enum: [true],
        description:
          'Instead of its result, why it failed: {code, message, task}, or null if it did not.',
      },
      missing: {
        enum: [...MISSING],
        description:
          'When the result lacks this field: leave the field out here, or use null. Otherwise the task fails.',
      },
    },
    required: ['$from'],
    additionalProperties: false,
  },
  literal: {
    type: 'object',
    description: 'Stands for what it holds: data that is not searched for references.',
    properties: { $literal: {} },
    additionalProperties: false,
  },
};

export const jobSchema: JsonObject & { readonly $defs: JsonObject } = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  $id: 'urn:millrace:job',
  title: 'Millrace job document',
  ...objectOf(grammars.JOB),
  $defs: named,
};
