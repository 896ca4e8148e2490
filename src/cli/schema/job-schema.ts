/**
 * The JSON Schema of the job document, for editors and other people's tools. `docs/job.schema.json` is
 * the same as a file, and a test holds it, this and the core's own reader together. A schema cannot say
 * everything that the reader checks: that a dependency is there, that nothing waits for itself.
 */
import {
  ID_LENGTH_MAX,
  type Json,
  type JsonObject,
  OPERATORS,
  PRIORITIES,
} from '../../scheduler/core/index.ts';

const DURATION_MS_MAX = 3_650 * 24 * 3_600 * 1_000;
const COUNT_MAX = 1_000_000;
const NAMES_MAX = 1_000;
const NAME_LENGTH_MAX = 200;
const ATTEMPTS_MAX = 100;
/** No control character stands in a name. */
const NAME = '^[^\\u0000-\\u001f\\u007f-\\u009f]*$';
const ID = '^[A-Za-z0-9_][A-Za-z0-9_.:@+=-]*$';
const POINTER = '^(?:/(?:[^~/]|~[01])*)*$';

const ref = (name: string): JsonObject => ({ $ref: `#/$defs/${name}` });

const whole = (minimum: number, maximum: number, description: string): JsonObject => ({
  type: 'integer',
  minimum,
  maximum,
  description,
});

const duration = (description: string): JsonObject =>
  whole(1, DURATION_MS_MAX, `${description} In milliseconds.`);

const text = (description: string): JsonObject => ({ ...ref('name'), description });

const listOf = (items: JsonObject, description: string, minItems = 0): JsonObject => ({
  type: 'array',
  items,
  maxItems: NAMES_MAX,
  ...(minItems === 0 ? {} : { minItems }),
  description,
});

/** An object with these fields and no others. */
const record = (
  description: string,
  properties: JsonObject,
  required: readonly string[] = [],
): JsonObject => ({
  type: 'object',
  description,
  properties,
  ...(required.length === 0 ? {} : { required }),
  additionalProperties: false,
});

const priority: JsonObject = {
  enum: [...PRIORITIES],
  description: '0 is urgent, 1 high, 2 normal, 3 low. A task has that of its job by default.',
};

const task: JsonObject = record(
  'A piece of work.',
  {
    id: { ...ref('id'), description: 'The name of the task within its job.' },
    executor: text(
      "What runs it: built in, such as 'http', or the name of a function in a module.",
    ),
    input: {
      ...ref('template'),
      description: 'What it works on. {"$from": task} takes the result of a dependency.',
    },
    when: {
      description: 'It runs only if this holds, or all of these; otherwise it is skipped.',
      anyOf: [ref('condition'), { type: 'array', items: ref('condition') }],
    },
    dependsOn: {
      type: 'array',
      items: ref('dependency'),
      description: 'Tasks that must end first.',
    },
    retry: record('How often it is tried, and how soon again.', {
      maxAttempts: whole(1, ATTEMPTS_MAX, 'Attempts in all, the first one included.'),
      backoffMs: whole(0, DURATION_MS_MAX, 'The wait before the second attempt; it doubles.'),
      maxBackoffMs: whole(0, DURATION_MS_MAX, 'The longest wait between two attempts.'),
      maxLosses: whole(1, ATTEMPTS_MAX, 'How often it may lose its node.'),
    }),
    timeouts: record('How long it may take.', {
      queueMs: duration('From ready to assigned.'),
      runMs: duration('Each attempt.'),
      totalMs: duration('From its creation to its end.'),
    }),
    placement: ref('placement'),
    concurrency: record(
      'At most so many tasks of the cluster with the same key run at the same time.',
      {
        key: text('Tasks with the same key share the limit.'),
        limit: whole(1, COUNT_MAX, 'How many.'),
      },
      ['key', 'limit'],
    ),
    priority,
    parent: { ...ref('id'), description: 'The task that this one is a part of.' },
    idempotencyKey: text('A task of this executor with the same key runs once.'),
  },
  ['id', 'executor'],
);

const placement: JsonObject = record('Where it may run.', {
  executors: listOf(ref('name'), 'Executors that the node must have besides.'),
  executorsAny: listOf(ref('name'), 'Of these the node must have at least one.', 1),
  capabilities: {
    type: 'object',
    description: 'What the node must offer. A bare number means at least, a list all of it.',
    maxProperties: NAMES_MAX,
    propertyNames: ref('name'),
    additionalProperties: ref('capabilityTest'),
  },
  allowedNodes: listOf(ref('id'), 'Only these nodes.', 1),
  forbiddenNodes: listOf(ref('id'), 'None of these nodes.'),
  maxParallelPerNode: whole(1, COUNT_MAX, 'Tasks of this placement on one node at the same time.'),
});

const capabilityScalar: JsonObject = {
  anyOf: [{ type: 'string', maxLength: NAME_LENGTH_MAX, pattern: NAME }, { type: 'number' }],
};

const capabilityList: JsonObject = {
  type: 'array',
  items: ref('capabilityScalar'),
  minItems: 1,
  maxItems: NAMES_MAX,
};

function operand(operator: (typeof OPERATORS)[number]): JsonObject {
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

/** They look at the task, not into its result. */
const ENDS: readonly string[] = ['succeeded', 'failed', 'skipped'];
const COMPARISONS: readonly string[] = ['=', '!=', '>', '>=', '<', '<=', 'in', ...ENDS];

function comparison(operator: string): Json {
  if (operator === 'in') return { type: 'array' };
  if (ENDS.includes(operator)) return { type: 'boolean' };
  return operator === '=' || operator === '!=' ? true : ref('comparable');
}

const condition: JsonObject = {
  ...record(
    "A test of a dependency's result: one comparison, or none for 'is there and not empty'.",
    {
      $from: { ...ref('id'), description: 'The dependency.' },
      path: ref('pointer'),
      ...Object.fromEntries(COMPARISONS.map((operator) => [operator, comparison(operator)])),
    },
    ['$from'],
  ),
  // The comparison is what is left besides the two.
  maxProperties: 3,
  dependentSchemas: Object.fromEntries(
    COMPARISONS.map((operator) => [
      operator,
      { not: { anyOf: excludedBy(operator).map((other) => ({ required: [other] })) } },
    ]),
  ),
};

function excludedBy(operator: string): readonly string[] {
  const others = COMPARISONS.filter((each) => each !== operator);
  return ENDS.includes(operator) ? [...others, 'path'] : others;
}

const template: JsonObject = {
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
        { type: 'array', items: ref('template') },
        ...['string', 'number', 'boolean', 'null'].map((type) => ({ type })),
      ],
    },
  },
};

export const jobSchema: JsonObject = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  $id: 'urn:millrace:job',
  title: 'Millrace job document',
  ...record(
    'A job: tasks, and what they depend on.',
    {
      name: text('For people; several jobs may have the same.'),
      priority,
      idempotencyKey: text('The same key again gives the first job.'),
      maxParallel: whole(1, COUNT_MAX, 'Tasks of this job that run at the same time.'),
      onFailure: {
        enum: ['finish', 'cancel'],
        description: 'Once a task has failed: let the others finish, or cancel them.',
      },
      timeouts: record('Of the whole job.', { totalMs: duration('From its creation to its end.') }),
      output: {
        ...ref('template'),
        description: 'The result of the job, made of results of its tasks.',
      },
      tasks: { type: 'array', items: ref('task'), minItems: 1, description: 'At least one.' },
    },
    ['tasks'],
  ),
  $defs: {
    name: { type: 'string', minLength: 1, maxLength: NAME_LENGTH_MAX, pattern: NAME },
    id: { type: 'string', minLength: 1, maxLength: ID_LENGTH_MAX, pattern: ID },
    pointer: { type: 'string', pattern: POINTER, description: "A JSON Pointer, '/body/rows/0'." },
    task,
    dependency: {
      anyOf: [
        ref('id'),
        record(
          'A task that must end first.',
          {
            id: ref('id'),
            required: {
              enum: [true, false, 'unlessSkipped'],
              description:
                "true: it must succeed. 'unlessSkipped': it must not fail. false: it only has to end.",
            },
          },
          ['id'],
        ),
      ],
    },
    template,
    reference: record(
      'A part of a result.',
      { $from: { ...ref('id'), description: 'The task.' }, path: ref('pointer') },
      ['$from'],
    ),
    literal: record('Stands for what it holds: data that is not searched for references.', {
      $literal: true,
    }),
    condition,
    comparable: { anyOf: [{ type: 'number' }, { type: 'string' }] },
    placement,
    capabilityScalar,
    capabilityList,
    capabilityValue: {
      anyOf: [ref('capabilityScalar'), { type: 'boolean' }, ref('capabilityList')],
    },
    capabilityTest: {
      anyOf: [
        ref('capabilityValue'),
        {
          ...record(
            'Tests that must all hold.',
            Object.fromEntries(OPERATORS.map((operator) => [operator, operand(operator)])),
          ),
          minProperties: 1,
        },
      ],
    },
  },
};
