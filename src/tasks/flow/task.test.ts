import type { StandardSchemaV1 } from '@standard-schema/spec';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defaultSettings, isMillraceError, parseJobDocument } from '../../scheduler/core/index.ts';
import type { TaskContext } from '../executors/index.ts';
import { RetryAfterError, classifyFailure } from '../executors/index.ts';
import { defineTask, externalTask } from './index.ts';

const context = { attempt: 1 } as TaskContext;

const charge = defineTask({
  name: 'charge',
  input: z.object({ order: z.string(), cents: z.number().int() }),
  output: z.object({ receipt: z.string().toUpperCase() }),
  retry: { maxAttempts: 5 },
  timeouts: { runMs: 30_000 },
  run: ({ order, cents }) => ({ receipt: `${order}-${cents}`, secret: 'dropped' }),
});

/** A schema that answers later. */
function later<T>(schema: StandardSchemaV1<unknown, T>): StandardSchemaV1<unknown, T> {
  const { validate } = schema['~standard'];
  return {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: async (value) => validate(value),
    },
  };
}

async function failureOf(run: () => unknown): Promise<ReturnType<typeof classifyFailure>> {
  try {
    await run();
  } catch (thrown) {
    return classifyFailure(thrown);
  }
  throw new Error('it did not fail');
}

test('an error may say when to try again', () => {
  const at = (thrown: unknown): number | undefined => classifyFailure(thrown).retryAfterMs;
  expect(at(new RetryAfterError('later', '90s'))).toBe(90_000);
  expect(at(new RetryAfterError('later', 1_500))).toBe(1_500);
  expect(at(new RetryAfterError('now', new Date(0)))).toBe(0);
  expect(at(new RetryAfterError('next year', '52w'))).toBe(30 * 24 * 3_600_000);
  expect(at(Object.assign(new Error('theirs'), { retryAfterMs: 0.5 }))).toBe(1);
  for (const retryAfterMs of [-1, NaN, Infinity, '5', null]) {
    expect(at(Object.assign(new Error('theirs'), { retryAfterMs }))).toBeUndefined();
  }
  expect(() => new RetryAfterError('when?', 'soon')).toThrow("'soon' is not a valid time to wait");
});

test('a task runs with what its schemas make of input and result', async () => {
  expect(await charge.run({ order: 'a', cents: 5, more: 1 }, context)).toEqual({ receipt: 'A-5' });
  const when = defineTask({
    name: 'when',
    input: z.object({ at: z.coerce.date() }),
    run: ({ at }, { attempt }) => [at.getTime(), attempt],
  });
  expect(await when.run({ at: '1970-01-01T00:00:01Z' }, context)).toEqual([1000, 1]);
});

test('an input that does not fit fails for good, with every fault and the place of the first', async () => {
  const failure = await failureOf(() => charge.run({ cents: 1.5 }, context));
  expect(failure).toMatchObject({ failure: 'fatal', error: { code: 'bad_input' } });
  expect(failure.error.message).toMatch(
    /^\/order: The input of task 'charge' does not match its schema: .*string.* Also: \/cents: .*int/,
  );
});

test('a result that does not fit fails for good and says where', async () => {
  const bad = defineTask({
    name: 'bad',
    output: z.object({ lines: z.array(z.number()) }),
    run: () => JSON.parse('{"lines":[1,"two"]}') as { lines: number[] },
  });
  expect(await failureOf(() => bad.run(null, context))).toEqual({
    failure: 'fatal',
    error: {
      code: 'bad_result',
      message: expect.stringMatching(
        /^The result of task 'bad' does not match its schema: \/lines\/1: .*number/,
      ) as string,
    },
  });
});

test('schemas that answer later do the same', async () => {
  const slow = defineTask({
    name: 'slow',
    input: later(z.object({ n: z.number() })),
    output: later(z.object({ n: z.number().max(10) })),
    run: ({ n }) => ({ n: n * 2 }),
  });
  expect(await slow.run({ n: 5 }, context)).toEqual({ n: 10 });
  expect(await failureOf(() => slow.run({ n: 'x' }, context))).toMatchObject({
    failure: 'fatal',
    error: { code: 'bad_input', message: expect.stringContaining('/n: ') as string },
  });
  expect(await failureOf(() => slow.run({ n: 6 }, context))).toMatchObject({
    failure: 'fatal',
    error: { code: 'bad_result' },
  });
  const document = slow.toDocument({ n: 1 });
  expect(document).toBeInstanceOf(Promise);
  expect(await document).toEqual({
    name: 'slow',
    tasks: [{ id: 'slow', executor: 'slow', input: { n: 1 } }],
  });
  await expect(slow.toDocument({ n: 'x' })).rejects.toMatchObject({ code: 'bad_input' });
});

test('an error of the handler is passed on unchanged', async () => {
  const thrown = new Error('no luck');
  const failing = defineTask({
    name: 'failing',
    run: () => {
      throw thrown;
    },
  });
  await expect(failing.run(null, context)).rejects.toBe(thrown);
});

test('an omitted input is undefined to a schema that refuses null', async () => {
  const lazy = defineTask({
    name: 'lazy',
    input: z.object({ n: z.number().default(7) }).prefault({}),
    run: ({ n }) => n,
  });
  expect(await lazy.run(null, context)).toBe(7);
  const nullable = defineTask({
    name: 'nullable',
    input: z.null().transform(() => 'null'),
    run: (text) => text,
  });
  expect(await nullable.run(null, context)).toBe('null');
  await expect(charge.run(null, context)).rejects.toThrow(/received null/);
});

test('a task by itself is a job with its name and defaults, and its input is sent as it was given', () => {
  const trimmed = defineTask({
    name: 'trimmed',
    input: z.object({ text: z.string().trim(), at: z.coerce.date() }),
    priority: 1,
    concurrency: { key: 'k', limit: 2 },
    placement: { capabilities: { gpu: 'nvidia' } },
    run: ({ text }) => text,
  });
  const document = trimmed.toDocument({ text: ' a ', at: new Date(0) });
  expect(document).toEqual({
    name: 'trimmed',
    tasks: [
      {
        id: 'trimmed',
        executor: 'trimmed',
        input: { text: ' a ', at: '1970-01-01T00:00:00.000Z' },
        priority: 1,
        concurrency: { key: 'k', limit: 2 },
        placement: { capabilities: { gpu: 'nvidia' } },
      },
    ],
  });
  expect(() => parseJobDocument(document, defaultSettings)).not.toThrow();
  expect(charge.toTask({ order: 'a', cents: 1 })).toEqual({
    executor: 'charge',
    input: { order: 'a', cents: 1 },
    retry: { maxAttempts: 5 },
    timeouts: { runMs: 30_000 },
  });
  expect(charge.readResult({ receipt: 'x' })).toEqual({ receipt: 'x' });
});

test('a bad input is refused before it is sent', () => {
  expect(() => charge.toDocument({ order: 'a', cents: 1.5 })).toThrow(
    /^\/cents: The input of task/,
  );
  // A date is text when it has come through JSON.
  const dated = defineTask({ name: 'dated', input: z.object({ at: z.date() }), run: () => 1 });
  expect(() => dated.toDocument({ at: new Date(0) })).toThrow(/^\/at: .*received string/);
});

test.each([
  [{ a: 1n }, "Task 'any': the input has a bigint at /a, which is not JSON; make it a text."],
  [{ a: new Map() }, "Task 'any': the input has a Map at /a, which is not JSON; "],
  [[Number.NaN], "Task 'any': the input has NaN at /0, which is not JSON; "],
  [() => 1, "Task 'any': the input is a function, which is not JSON; use plain data."],
])('data that is not JSON is refused: %#', (input, message) => {
  const any = externalTask<unknown>('any');
  expect(() => any.toTask(input)).toThrow(message);
  expect(() => any.toDocument(input)).toThrow(message);
});

test('data that looks like a reference stays data', () => {
  const data = { a: { b: [{ $from: 'x' }] } };
  expect(externalTask<unknown>('any').toTask(data)).toMatchObject({ input: { $literal: data } });
  const typed = defineTask({ name: 'typed', input: z.looseObject({}), run: () => 1 });
  expect(typed.toDocument(data)).toMatchObject({ tasks: [{ input: { $literal: data } }] });
});

test('data that contains itself is refused', () => {
  const loop: Record<string, unknown> = {};
  loop['self'] = loop;
  expect(() => externalTask<unknown>('any').toTask(loop)).toThrow(
    'has a circular reference at /self, which is not JSON; use plain data.',
  );
});

test('the options of a definition cannot be changed from outside', () => {
  const retry = { maxAttempts: 2 };
  const task = externalTask('other', { retry });
  retry.maxAttempts = 50;
  expect(task.toTask(1)).toEqual({ executor: 'other', input: 1, retry: { maxAttempts: 2 } });
  expect(task.toDocument(1)).toEqual({
    name: 'other',
    tasks: [{ id: 'other', executor: 'other', input: 1, retry: { maxAttempts: 2 } }],
  });
});

test('`thread` must be a module URL, and is passed on to the worker', () => {
  const heavy = defineTask({ name: 'heavy', thread: import.meta.url, run: () => 1 });
  expect(heavy).toMatchObject({ kind: 'millrace.task', thread: import.meta.url });
  expect('thread' in charge).toBe(false);
});

const run = (): null => null;
test.each<[unknown, string]>([
  [{ name: 'a/b', run }, `Task: "a/b" is not a valid name. Use 1 to 200 letters`],
  [{ name: 7, run }, 'Task: the number 7 is not a valid name.'],
  [undefined, 'Task: its definition must be an object, not undefined.'],
  [{ name: 'http', run }, "Task 'http': The name is reserved for a built-in executor."],
  [{ name: 't' }, "Task 't': 'run' must be a function, not undefined."],
  [
    { name: 't', run, retires: 3 },
    "Task 't': unknown option 'retires'. The options are name, input",
  ],
  [{ name: 't', run, retry: { maxAttempts: 0 } }, "Task 't': /retry/maxAttempts: Must be a whole"],
  [{ name: 't', run, retry: { maxAtempts: 1 } }, "Did you mean 'maxAttempts'?"],
  [
    { name: 't', run, placement: { allowedNodes: [] } },
    "Task 't': /placement/allowedNodes: An empty",
  ],
  [{ name: 't', run, priority: 9 }, "Task 't': /priority: Must be a whole number from 0 to 3"],
  [{ name: 't', run, concurrency: { key: 'k' } }, "Task 't': /concurrency/limit: The field"],
  [{ name: 't', run, timeouts: { runMs: 1n } }, "Task 't': the options are not plain data."],
  [
    { name: 't', run, input: { type: 'object' } },
    "Task 't': 'input' must be a schema, not an object.",
  ],
  [{ name: 't', run, output: 'text' }, `Task 't': 'output' must be a schema, not "text".`],
  [{ name: 't', run, thread: './here.ts' }, `Task 't': 'thread' is "./here.ts". Write`],
])('a definition that is not valid is refused: %#', (parts, message) => {
  let thrown: unknown;
  try {
    defineTask(parts as { readonly name: string; readonly run: () => null });
  } catch (error) {
    thrown = error;
  }
  expect(isMillraceError(thrown, 'bad_input')).toBe(true);
  expect((thrown as Error).message).toContain(message);
});

test('a schema may be a function, and need not explain what it refuses', () => {
  const never = Object.assign(() => 1, {
    '~standard': { version: 1, vendor: 'test', validate: () => ({ issues: [] }) },
  }) as unknown as StandardSchemaV1<string>;
  const task = defineTask({ name: 'never', input: never, run: () => 1 });
  expect(() => task.toDocument('x')).toThrow(
    "The input of task 'never' does not match its schema: it was rejected.",
  );
});

test('of very many mistakes only some are reported', () => {
  const many = defineTask({ name: 'many', input: z.array(z.number()), run: () => 1 });
  const words = Array.from({ length: 30 }, () => 'x') as unknown as number[];
  expect(() => many.toDocument(words)).toThrow(/\/20: .*; and 9 more\.$/);
});
