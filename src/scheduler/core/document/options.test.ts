import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { refusalOf } from '../../../../test/rig/refusal.ts';
import type { NodeId } from '../ids.ts';
import { checkedSettings, defaultSettings } from '../settings.ts';
import type { CapabilityTest, TaskOptions } from './document.ts';
import { parseJobDocument } from './parse.ts';
import { decodeOptions, defaultOptions, encodeOptions } from './options.ts';

const settings = defaultSettings;
const standard = defaultOptions(settings);

const maybe = (max: number): fc.Arbitrary<number | null> =>
  fc.option(fc.integer({ min: 1, max }), { nil: null });
const names = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 3 });
const sorted = names.map((each) => each.toSorted());
const nodes = sorted.map((each) => each as NodeId[]);
const value = fc.oneof(
  fc.string().filter((text) => !/\p{Cc}/u.test(text)),
  fc.integer(),
  fc.boolean(),
);
const capabilityTest: fc.Arbitrary<CapabilityTest> = fc.oneof(
  value,
  names.filter((list) => list.length > 0),
  fc.record({ '>=': fc.integer() }),
  fc.record({ '!=': value, has: fc.constant('x') }),
);

const usersOptions: fc.Arbitrary<TaskOptions> = fc.record({
  retry: fc
    .record({
      maxAttempts: fc.integer({ min: 1, max: 100 }),
      backoffMs: fc.oneof(fc.constant(settings.backoffMs), fc.nat(1_000_000)),
      maxBackoffMs: fc.oneof(fc.constant(settings.maxBackoffMs), fc.nat(1_000_000)),
      maxLosses: fc.integer({ min: 1, max: 10 }),
    })
    .filter(({ backoffMs, maxBackoffMs }) => backoffMs <= maxBackoffMs),
  limits: fc.uniqueArray(
    fc.record({
      key: fc.constantFrom('m', 'n'),
      max: fc.integer({ min: 1, max: 9 }),
      perMs: maybe(9),
    }),
    { maxLength: 3, selector: ({ key, perMs }) => `${perMs === null} ${key}` },
  ),
  timeouts: fc.record({ queueMs: maybe(9), runMs: maybe(9), totalMs: maybe(9) }),
  placement: fc.record({
    executors: sorted,
    executorsAny: sorted,
    capabilities: fc.dictionary(
      fc.constantFrom('gpu', 'cpu', '__proto__', 'constructor'),
      capabilityTest,
    ),
    allowedNodes: fc.option(
      nodes.filter((list) => list.length > 0),
      { nil: null },
    ),
    forbiddenNodes: nodes,
    maxParallelPerNode: maybe(5),
  }),
  concurrency: fc.option(
    fc.record({ key: fc.constantFrom('k', 'é'), limit: fc.integer({ min: 1, max: 9 }) }),
    {
      nil: null,
    },
  ),
});

/** With what only the tasks of queries have. */
const someOptions: fc.Arbitrary<TaskOptions> = fc
  .tuple(
    usersOptions,
    fc.constantFrom(
      {},
      { output: 'deterministic' } as const,
      { output: 'non-deterministic' } as const,
    ),
    fc.oneof(
      fc.constant({}),
      fc.maxSafeNat().map((memoryBytes) => ({ admission: { memoryBytes } })),
    ),
  )
  .map(([options, output, admission]) => ({ ...options, ...output, ...admission }));

describe('task options', () => {
  test('survive being stored', () => {
    fc.assert(
      fc.property(someOptions, (options) => {
        expect(decodeOptions(encodeOptions(options, settings), settings)).toEqual(options);
      }),
    );
  });

  test('accept the names of output kinds in rows of earlier versions', () => {
    const stored = (output: TaskOptions['output']): string | null =>
      encodeOptions({ ...standard, ...(output === undefined ? {} : { output }) }, settings);
    expect(stored('deterministic')).toBe('{"output":"stable"}');
    expect(stored('non-deterministic')).toBe('{"output":"unstable"}');
  });

  test('are stored as one text, whatever order they were written in', () => {
    const text =
      '{"retry":{"maxAttempts":5,"backoffMs":9},"placement":{"forbiddenNodes":["b","a"]}}';
    const turned =
      '{"placement":{"forbiddenNodes":["a","b","a"]},"retry":{"backoffMs":9,"maxAttempts":5}}';
    const [one, other] = [text, turned].map((each) =>
      encodeOptions(decodeOptions(each, settings), settings),
    );
    expect(one).toBe(other);
  });

  test('are null when all are default, also when a default was written out', () => {
    expect(encodeOptions(standard, settings)).toBeNull();
    expect(encodeOptions(structuredClone(standard), settings)).toBeNull();
  });

  test('store only what differs', () => {
    const options = { ...standard, retry: { ...standard.retry, maxAttempts: 7 } };
    expect(encodeOptions(options, settings)).toBe('{"retry":{"maxAttempts":7}}');
  });

  test('that are default are one frozen object for the same settings', () => {
    expect(defaultOptions(settings)).toBe(standard);
    expect(decodeOptions(null, settings)).toBe(standard);
    const { retry, timeouts, placement } = standard;
    for (const part of [standard, retry, timeouts, placement])
      expect(part).toSatisfy(Object.isFrozen);
    const patient = checkedSettings({ maxAttempts: 9 });
    expect(defaultOptions(patient).retry.maxAttempts).toBe(9);
  });

  test('keep the back-off and its ceiling in order when only one is given', () => {
    const retry = (text: string): object => decodeOptions(text, settings).retry;
    expect(retry('{"retry":{"maxBackoffMs":100}}')).toMatchObject({
      backoffMs: 100,
      maxBackoffMs: 100,
    });
    expect(retry('{"retry":{"backoffMs":400000}}')).toMatchObject({
      backoffMs: 400_000,
      maxBackoffMs: 400_000,
    });
  });

  test.each([{ output: 'deterministic' }, { admission: { memoryBytes: 1 } }])(
    'have nothing in a document that only queries may have: %j',
    (more) => {
      const tasks = [{ id: 'a', executor: 'echo', ...more }];
      const refusal = refusalOf(() => parseJobDocument({ name: 'job', tasks }, settings));
      expect(refusal).toMatchObject({
        code: 'bad_input',
        path: `/tasks/0/${Object.keys(more)[0]}`,
      });
    },
  );

  test.each([
    '{',
    '[]',
    '{"retry":{"maxAttempts":0}}',
    '{"other":1}',
    '{"output":"maybe"}',
    '{"admission":{}}',
    '{"admission":{"memoryBytes":-1}}',
  ])('that are stored as %s are a bad row', (text) => {
    expect(refusalOf(() => decodeOptions(text, settings)).code).toBe('bad_row');
  });
});
