/** The published schema, the code that makes it and the core's own reader: three accounts of one thing. */
import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  defaultSettings,
  isMillraceError,
  jobSchema,
  parseJobDocument,
} from '../../scheduler/core/index.ts';
import { run } from '../program.ts';

const PUBLISHED = new URL('../../../docs/job.schema.json', import.meta.url);
const validate = new Ajv2020({ allErrors: true, strict: true, strictRequired: false }).compile(
  jobSchema,
);

function isRead(document: unknown): boolean {
  try {
    parseJobDocument(document, defaultSettings);
    return true;
  } catch (error) {
    if (isMillraceError(error)) return false;
    throw error;
  }
}

const task = (more: object = {}) => ({ id: 'a', executor: 'echo', ...more });
const job = (...tasks: readonly unknown[]) => ({ tasks });
/** A job in which the task depends on one before it. */
const after = (more: object) => job(task({ id: 'b' }), task({ dependsOn: ['b'], ...more }));
const placed = (placement: object) => job(task({ placement }));
const able = (test: unknown) => placed({ capabilities: { gpu: test } });

test('docs/job.schema.json is what the code makes', () => {
  expect(JSON.parse(readFileSync(PUBLISHED, 'utf8'))).toEqual(jobSchema);
});

test('`millrace schema` prints it', async () => {
  let out = '';
  const { signal } = new AbortController();
  const world = { out: (text: string) => (out += text), err: () => {}, signal };
  expect(await run(['schema'], world)).toBe(0);
  expect(JSON.parse(out)).toEqual(jobSchema);
});

describe('what the reader refuses and a schema can tell, the schema refuses', () => {
  test.each<[string, unknown]>([
    ['no object', []],
    ['no tasks', {}],
    ['an empty list of tasks', job()],
    ['an unknown field', { ...job(task()), tsaks: [] }],
    ['a task without an id', job({ executor: 'echo' })],
    ['a task without an executor', job({ id: 'a' })],
    ['an id with a slash', job(task({ id: 'a/b' }))],
    ['an id that begins with a dot', job(task({ id: '.a' }))],
    ['an id that is too long', job(task({ id: 'a'.repeat(201) }))],
    ['an empty executor', job(task({ executor: '' }))],
    ['an executor with a control character', job(task({ executor: 'a\tb' }))],
    ['a name that is too long', { name: 'n'.repeat(201), ...job(task()) }],
    ['a name that is not text', { name: 7, ...job(task()) }],
    ['priority 4', { priority: 4, ...job(task()) }],
    ['half a priority', job(task({ priority: 0.5 }))],
    ['another onFailure', { onFailure: 'retry', ...job(task()) }],
    ['maxParallel 0', { maxParallel: 0, ...job(task()) }],
    ['too large a maxParallel', { maxParallel: 1_000_001, ...job(task()) }],
    ['a timeout of nothing', { timeouts: { totalMs: 0 }, ...job(task()) }],
    ['a timeout of eleven years', job(task({ timeouts: { runMs: 3_650 * 86_400_000 + 1 } }))],
    ['an unknown timeout', job(task({ timeouts: { waitMs: 1 } }))],
    ['0 attempts', job(task({ retry: { maxAttempts: 0 } }))],
    ['101 attempts', job(task({ retry: { maxAttempts: 101 } }))],
    ['101 losses', job(task({ retry: { maxLosses: 101 } }))],
    ['a negative back-off', job(task({ retry: { backoffMs: -1 } }))],
    ['retry that is null', job(task({ retry: null }))],
    ['a dependency that is a number', job(task({ dependsOn: [1] }))],
    ['a dependency without an id', job(task({ dependsOn: [{ required: true }] }))],
    ['a dependency that is hardly required', after({ dependsOn: [{ id: 'b', required: 1 }] })],
    ['a dependency that is required somehow', after({ dependsOn: [{ id: 'b', required: 'so' }] })],
    ['concurrency without a limit', job(task({ concurrency: { key: 'k' } }))],
    ['no executor to choose from', placed({ executorsAny: [] })],
    ['no node allowed', placed({ allowedNodes: [] })],
    ['a node that is not an id', placed({ forbiddenNodes: ['a b'] })],
    ['an unknown placement', placed({ nodes: [] })],
    ['a test of nothing', able({})],
    ['a test for an empty list', able([])],
    ['an unknown operator', able({ '~': 1 })],
    ['more than a text', able({ '>': 'a' })],
    ['in no list', able({ in: 'a' })],
    ['an empty list of choices', able({ in: [] })],
    ['has true', able({ has: true })],
    ['a capability that is null', able(null)],
    ['a reference with more in it', after({ input: { $from: 'b', paths: '' } })],
    ['a reference deep in an input', after({ input: [{ x: { $from: 7 } }] })],
    ['a path that is not a pointer', after({ input: { $from: 'b', path: 'x' } })],
    ['a path with a wrong escape', after({ input: { $from: 'b', path: '/~2' } })],
    ['an output that refers to a number', { output: { $from: 1 }, ...job(task()) }],
    ['a condition without a task', after({ when: { '=': 1 } })],
    ['a condition with two comparisons', after({ when: { $from: 'b', '>': 1, '<': 2 } })],
    ['a condition that is text', after({ when: 'b' })],
    ['a condition that compares with a list', after({ when: [{ $from: 'b', '>': [] }] })],
    ['a condition on an end that is text', after({ when: { $from: 'b', succeeded: 'no' } })],
    ['an end with a path', after({ when: { $from: 'b', path: '', succeeded: true } })],
    ['a failure with a path', after({ when: { $from: 'b', path: '', failed: true } })],
    ['two ends', after({ when: { $from: 'b', failed: true, skipped: true } })],
    ['a literal with more in it', job(task({ input: { $literal: 1, x: 2 } }))],
    ['a condition in no list', after({ when: { $from: 'b', in: 1 } })],
    ['an unknown comparison', after({ when: { $from: 'b', '==': 1 } })],
  ])('%s', (_what, document) => {
    expect(isRead(document)).toBe(false);
    expect(validate(document)).toBe(false);
  });
});

const id = fc.constantFrom('a', 'b', 'c', 'd', 'e:1', '_x');
const name = fc.constantFrom('echo', 'http', 'Größe', '漢字', 'x'.repeat(200));
const count = fc.constantFrom(1, 2, 100);
const ms = fc.constantFrom(1, 250, 3_650 * 86_400_000);
const pointer = fc.constantFrom('', '/', '/x/0', '/a~0b/c~1d', '/ä');
const scalar = fc.oneof(
  fc.constantFrom('', 'x', 'Ä'),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
);
const list = fc.array(scalar, { minLength: 1, maxLength: 3 });
const value = fc.oneof(scalar, fc.boolean(), list);
const optional = { requiredKeys: [] };
const capability = fc.oneof(
  value,
  fc.record({ '=': value, '!=': value }),
  fc.record({ '>=': fc.integer(), '<': fc.double({ noNaN: true, noDefaultInfinity: true }) }),
  fc.record({ in: list, has: fc.oneof(scalar, list) }, { requiredKeys: ['in'] }),
);
const placement = fc.record(
  {
    executors: fc.array(name, { maxLength: 2 }),
    executorsAny: fc.array(name, { minLength: 1, maxLength: 2 }),
    capabilities: fc.dictionary(name, capability, { maxKeys: 2 }),
    allowedNodes: fc.array(id, { minLength: 1, maxLength: 2 }),
    forbiddenNodes: fc.array(id, { maxLength: 2 }),
    maxParallelPerNode: count,
  },
  optional,
);
const comparison = fc.oneof(
  fc.constant({}),
  fc.jsonValue({ maxDepth: 1 }).map((wanted) => ({ '=': wanted })),
  fc.constantFrom('>', '<=').map((operator) => ({ [operator]: 1 })),
  fc.constant({ in: ['x', null, 1] }),
);
const condition = fc.record({ $from: id, path: pointer }, { requiredKeys: ['$from'] });
const when = fc.tuple(condition, comparison).map(([from, test]) => ({ ...from, ...test }));
const template = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  condition,
  fc.record({ x: fc.array(condition, { maxLength: 2 }) }),
);
const anyTask = fc.record(
  {
    id,
    executor: name,
    input: template,
    when: fc.oneof(when, fc.array(when, { maxLength: 2 })),
    dependsOn: fc.uniqueArray(fc.oneof(id, fc.record({ id, required: fc.boolean() })), {
      maxLength: 3,
    }),
    retry: fc.record(
      { maxAttempts: count, backoffMs: fc.constantFrom(0, 5), maxLosses: count },
      optional,
    ),
    timeouts: fc.record({ queueMs: ms, runMs: ms, totalMs: ms }, optional),
    placement,
    concurrency: fc.record({ key: name, limit: count }),
    priority: fc.integer({ min: 0, max: 3 }),
    idempotencyKey: name,
  },
  { requiredKeys: ['id', 'executor'] },
);
const anyJob = fc.record(
  {
    name,
    priority: fc.integer({ min: 0, max: 3 }),
    idempotencyKey: name,
    maxParallel: count,
    onFailure: fc.constantFrom('finish', 'cancel'),
    timeouts: fc.record({ totalMs: ms }, optional),
    output: template,
    tasks: fc.uniqueArray(anyTask, { minLength: 1, maxLength: 4, selector: (each) => each.id }),
  },
  { requiredKeys: ['tasks'] },
);

/** Tasks that depend on those before them, and on what their inputs and conditions name. */
function sound(document: { readonly tasks: readonly Readonly<Record<string, unknown>>[] }): object {
  const tasks = document.tasks.map((each, at) => {
    const earlier = document.tasks.slice(0, at).map(({ id }) => id);
    return at === 0 ? without(each, earlier) : { ...without(each, earlier), dependsOn: earlier };
  });
  return {
    ...renamed(
      document,
      tasks.map((each) => (each as { id: unknown }).id),
    ),
    tasks,
  };
}

function without(each: Readonly<Record<string, unknown>>, earlier: readonly unknown[]): object {
  const { when, dependsOn: _, ...rest } = each;
  const cleared = renamed(rest, earlier);
  return earlier.length === 0 || when === undefined
    ? cleared
    : { ...cleared, when: renamed({ when }, earlier)['when'] };
}

/** Every reference names somebody who is there; where nobody is, the input goes. */
function renamed(value: object, known: readonly unknown[]): Record<string, unknown> {
  const text = JSON.stringify(value);
  const changed = text.replaceAll(
    /"\$from":"[^"]*"/g,
    `"$from":${JSON.stringify(known[0] ?? null)}`,
  );
  const result = JSON.parse(changed) as Record<string, unknown>;
  if (known.length === 0) delete result['input'];
  return result;
}

test('what the reader accepts, the schema accepts', () => {
  let read = 0;
  fc.assert(
    fc.property(fc.oneof(anyJob, anyJob.map(sound)), (generated) => {
      const document: unknown = JSON.parse(JSON.stringify(generated));
      if (!isRead(document)) return;
      read += 1;
      validate(document);
      expect(validate.errors ?? []).toEqual([]);
    }),
    { numRuns: 2_000 },
  );
  // Otherwise it has proved nothing.
  expect(read).toBeGreaterThan(500);
});

test('the example of the handbook is a job to both', () => {
  const document = {
    name: 'nightly',
    priority: 2,
    idempotencyKey: '2026-11-15',
    output: { total: { $from: 'sum' } },
    tasks: [
      {
        id: 'fetch',
        executor: 'http',
        input: { url: 'https://example.org/x' },
        retry: { maxAttempts: 5, backoffMs: 250 },
        timeouts: { queueMs: 60_000, runMs: 30_000 },
      },
      {
        id: 'sum',
        executor: 'myFunction',
        dependsOn: ['fetch', { id: 'warm', required: false }],
        when: [
          { $from: 'fetch', path: '/status', '=': 200 },
          { $from: 'fetch', succeeded: true },
        ],
        input: { as: { $literal: { $from: 1 } }, rows: { $from: 'fetch', path: '/body/rows' } },
        placement: {
          executorsAny: ['a', 'b'],
          capabilities: { gpu: 'nvidia', cpu_cores: { '>=': 8 } },
          allowedNodes: ['w-1'],
          forbiddenNodes: ['w-9'],
          maxParallelPerNode: 1,
        },
      },
      { id: 'warm', executor: 'echo', input: 1 },
    ],
  };
  expect(isRead(document)).toBe(true);
  validate(document);
  expect(validate.errors ?? []).toEqual([]);
});
