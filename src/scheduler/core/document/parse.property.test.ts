/** Whatever comes in: an error that names a place, or a document that needs no further check. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isMillraceError, type MillraceError } from '../errors.ts';
import { isId } from '../ids.ts';
import type { Json } from '../json.ts';
import { checkedSettings } from '../settings.ts';
import type { JobDocument } from './document.ts';
import { inputReferences } from './input.ts';
import { decodeOptions, encodeOptions } from './options.ts';
import { parseJobDocument } from './parse.ts';
import { pointedAt, pointerTokens } from './pointer.ts';
import { wellFormed } from './text.ts';

const settings = checkedSettings({
  documentBytesMax: 20_000,
  inputBytesMax: 2_000,
  tasksPerJobMax: 8,
});

const id = fc.constantFrom('a', 'b', 'c', 'd');
const name = fc.constantFrom('echo', 'http', 'Größe');
const count = fc.integer({ min: 1, max: 100 });
const optional = { requiredKeys: [] };

const reference = fc.record(
  { $from: id, path: fc.constantFrom('', '/x/0') },
  { requiredKeys: ['$from'] },
);
const task = fc.record(
  {
    id,
    executor: name,
    input: fc.oneof(
      fc.jsonValue({ maxDepth: 2 }),
      reference,
      fc.array(reference, { maxLength: 2 }),
    ),
    dependsOn: fc.array(fc.oneof(id, fc.record({ id, required: fc.boolean() })), { maxLength: 2 }),
    retry: fc.record({ maxAttempts: count, backoffMs: count, maxLosses: count }, optional),
    timeouts: fc.record({ queueMs: count, runMs: count, totalMs: count }, optional),
    placement: fc.record(
      {
        executors: fc.array(name, { maxLength: 2 }),
        executorsAny: fc.array(name, { minLength: 1, maxLength: 2 }),
        capabilities: fc.dictionary(name, fc.oneof(count, name, fc.record({ '>=': count }))),
        allowedNodes: fc.array(id, { minLength: 1, maxLength: 2 }),
        forbiddenNodes: fc.array(id, { maxLength: 2 }),
        maxParallelPerNode: count,
      },
      optional,
    ),
    priority: fc.integer({ min: 0, max: 3 }),
    parent: id,
    concurrency: fc.record({ key: name, limit: count }),
    idempotencyKey: name,
  },
  { requiredKeys: ['id', 'executor'] },
);
const job = fc.record(
  {
    name,
    priority: fc.integer({ min: 0, max: 3 }),
    idempotencyKey: name,
    maxParallel: count,
    onFailure: fc.constantFrom('finish', 'cancel'),
    timeouts: fc.record({ totalMs: count }),
    tasks: fc.uniqueArray(task, { minLength: 1, maxLength: 4, selector: (each) => each.id }),
  },
  { requiredKeys: ['tasks'] },
);

/** Always right: tasks depend on earlier ones, and refer to what they depend on. */
const soundJob = fc
  .record({ job, links: fc.array(fc.nat(3), { minLength: 16, maxLength: 16 }) })
  .map(({ job, links }) => ({
    ...job,
    tasks: job.tasks.map((each, at) => {
      const earlier = job.tasks.slice(0, at).map((before) => before.id);
      const needed = earlier.filter((_, from) => links[at * 4 + from] !== 0);
      return {
        ...each,
        dependsOn: needed.map((from, place) =>
          place % 2 === 0 ? from : { id: from, required: false },
        ),
        input: { given: links, results: needed.map((from) => ({ $from: from, path: '/x' })) },
        parent: links[at] === 1 ? earlier[0] : undefined,
      };
    }),
  }));

/** Values that are wrong almost anywhere. */
const poison = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    undefined,
    NaN,
    -1,
    0,
    1.5,
    4,
    Infinity,
    '',
    'a/b',
    '\0',
    '\uD800',
    [],
    {},
    true,
  ),
  fc.constantFrom<unknown>(
    { $from: 'zzz' },
    { $from: 'a', path: 'x' },
    'zzz',
    9n,
    Symbol('s'),
    () => 1,
  ),
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc.jsonValue({ maxDepth: 3 }),
);

/** One place of a document, replaced, removed, added to or duplicated. */
interface Mutation {
  readonly at: number;
  readonly kind: 'replace' | 'remove' | 'add' | 'double';
  readonly key: string;
  readonly value: unknown;
}
const mutation: fc.Arbitrary<Mutation> = fc.record({
  at: fc.nat(),
  kind: fc.constantFrom('replace' as const, 'remove' as const, 'add' as const, 'double' as const),
  key: fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('$from', 'id', '__proto__', 'a/b', '~'),
  ),
  value: poison,
});

function mutated(document: unknown, { at, kind, key, value }: Mutation): unknown {
  const spots: [holder: Record<string, unknown>, key: string][] = [];
  const walk = (holder: unknown): void => {
    if (typeof holder !== 'object' || holder === null) return;
    for (const each of Object.keys(holder)) {
      spots.push([holder as Record<string, unknown>, each]);
      walk((holder as Record<string, unknown>)[each]);
    }
  };
  const copy: unknown = structuredClone(document);
  walk(copy);
  const spot = spots[at % Math.max(1, spots.length)];
  if (spot === undefined) return value;
  const [holder, place] = spot;
  if (kind === 'remove' && !Array.isArray(holder)) delete holder[place];
  else if (kind === 'double' && Array.isArray(holder)) holder.push(holder[Number(place)]);
  else if (kind === 'add' && !Array.isArray(holder)) {
    Object.defineProperty(holder, key, {
      value,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  } else holder[place] = value;
  return copy;
}

/** The document, or the error; anything else that is thrown fails the test. */
function outcome(value: unknown): JobDocument | MillraceError {
  try {
    return parseJobDocument(value, settings);
  } catch (error) {
    if (isMillraceError(error)) return error;
    throw error;
  }
}

function expectUsefulRefusal(value: unknown, error: MillraceError): void {
  expect(['bad_input', 'too_large']).toContain(error.code);
  expect(wellFormed(error.message)).toBe(true);
  expect(error.message).not.toContain('\0');
  expect(error.what).toMatch(/[.?]$/);
  if (error.path === undefined || error.path.includes('\uFFFD')) return;
  // The field itself may be what is missing, but what should hold it is there.
  const tokens = pointerTokens(error.path) ?? expect.fail(`bad path ${error.path}`);
  expect(pointedAt(value as Json, tokens.slice(0, -1))).toBeTypeOf('object');
}

function expectSound(document: JobDocument): void {
  const { tasks } = document;
  const ids = tasks.map((each) => each.id);
  expect(new Set(ids).size).toBe(tasks.length);
  const ended = new Set<number>();
  // Tasks can be ended one after the other, each after what it depends on: there is no cycle.
  for (let round = 0; round < tasks.length; round += 1) {
    tasks.forEach((each, no) => {
      if (each.dependsOn.every((dependency) => ended.has(dependency.no))) ended.add(no);
    });
  }
  expect(ended.size).toBe(tasks.length);
  tasks.forEach((each, no) => {
    expect(isId(each.id)).toBe(true);
    const needed = each.dependsOn.map((dependency) => ids[dependency.no]);
    for (const from of inputReferences(each.input)) expect(needed).toContain(from);
    let ancestor = each.parent;
    for (let up = 0; ancestor !== null && up <= tasks.length; up += 1) {
      expect(ancestor).not.toBe(no);
      ancestor = tasks[ancestor]?.parent ?? null;
    }
    expect(decodeOptions(encodeOptions(each.options, settings), settings)).toEqual(each.options);
  });
}

function expectSoundOrRefused(value: unknown): void {
  const result = outcome(value);
  if (isMillraceError(result)) expectUsefulRefusal(value, result);
  else expectSound(result);
}

test('arbitrary JSON is refused with an error that names a place', () => {
  fc.assert(fc.property(fc.jsonValue(), expectSoundOrRefused));
});

test('arbitrary JavaScript values are refused without an internal error', () => {
  fc.assert(
    fc.property(
      fc.anything({
        withBigInt: true,
        withDate: true,
        withMap: true,
        withNullPrototype: true,
        withSparseArray: true,
        withTypedArray: true,
      }),
      (value) => {
        expectSoundOrRefused(value);
        expectSoundOrRefused({ tasks: value });
        expectSoundOrRefused({ tasks: [{ id: 'a', executor: 'x', input: value }] });
        expectSoundOrRefused({
          tasks: [{ id: 'a', executor: 'x', placement: { capabilities: value } }],
        });
      },
    ),
  );
});

test('a valid document is accepted', () => {
  fc.assert(
    fc.property(soundJob, (value) => {
      expectSound(parseJobDocument(value, settings));
    }),
  );
});

test('a document of valid fields is accepted with a valid graph, or refused for its graph', () => {
  fc.assert(fc.property(job, expectSoundOrRefused), { numRuns: 500 });
});

test('a mutated document is accepted with a valid graph, or refused with the path', () => {
  fc.assert(
    fc.property(
      soundJob,
      fc.array(mutation, { minLength: 1, maxLength: 3 }),
      (value, mutations) => {
        const changed = mutations.reduce<unknown>((document, each) => {
          try {
            return mutated(document, each);
          } catch {
            return document; // functions and symbols cannot be copied again
          }
        }, value);
        expectSoundOrRefused(changed);
      },
    ),
    { numRuns: 2_000 },
  );
});

test('the same document is read the same way twice, and not changed', () => {
  fc.assert(
    fc.property(job, (value) => {
      const before = JSON.stringify(value);
      const [first, second] = [outcome(value), outcome(JSON.parse(before))];
      if (isMillraceError(first)) expect(second).toMatchObject({ path: first.path });
      else expect(second).toEqual(first);
      expect(JSON.stringify(value)).toBe(before);
    }),
  );
});
