import { expect, test } from 'vitest';
import { z } from 'zod';
import { createTestRuntime } from '../../testing/index.ts';
import { defineFlow, defineTask, externalFlow } from './index.ts';
import { jsonSchemaOf } from './published.ts';

/** Answers what it was given. */
const show = defineTask({ name: 'show', run: (input) => input });
const each = defineTask({ name: 'each', run: (input) => input });

const order = defineFlow({
  name: 'order',
  input: z.object({
    id: z.string(),
    cents: z.number().int(),
    note: z.string().optional(),
    tags: z.array(z.string()).default(['new']),
    address: z.object({ street: z.string(), city: z.string().optional() }),
    data: z.unknown(),
  }),
  priority: 1,
  search: (input) => ({ order: input.id, note: input.note, cents: input.cents, kind: 'web' }),
  build: ({ input, task, map, is, orNull }) => {
    const first = task(
      'first',
      show,
      {
        id: input.id,
        note: input.note,
        orNull: orNull(input.note),
        city: input.address.city,
        all: [input.tags, { deep: input.address }],
        fixed: { a: [1, 'x'] },
      },
      {
        idempotencyKey: input.id,
        concurrency: { key: input.id, limit: 3 },
        when: is(input.cents, '>', 100),
      },
    );
    const data = task('data', show, { data: input.data, again: orNull(first) });
    const many = map('many', each, input.tags);
    const cheap = task('cheap', show, { id: input.id }, { when: is(input.cents, '<=', 100) });
    return { first: orNull(first), data, many, cheap: orNull(cheap), note: input.note };
  },
});

const INPUTS = [
  { id: 'A-1', cents: 500, address: { street: 's' }, data: { $from: 'first', $literal: 1 } },
  {
    id: 'A-2',
    cents: 5,
    note: 'n',
    tags: ['x', 'y'],
    address: { street: 's', city: 'c' },
    data: 1,
  },
  { id: 'A-3', cents: 101, tags: [], address: { street: 's' }, data: null },
];

test.each(INPUTS)(
  'a flow that is started by name makes the same job as a submitted one: %j',
  async (input) => {
    await using submitted = await createTestRuntime({ flows: [order] });
    await using started = await createTestRuntime({ flows: [order] });
    const one = await submitted.submit(order, input);
    const other = await started.start('order', input);
    expect(await other.result()).toEqual(await one.result());
    const results = async (job: typeof one | typeof other): Promise<unknown[]> =>
      (await job.job()).tasks
        .filter(({ id }) => id !== '_input')
        .map(({ id, state, result }) => [id, state, result]);
    expect(await results(other)).toEqual(await results(one));
    const { name, priority, labels } = await one.job();
    expect(await other.job()).toMatchObject({ name, priority, labels });
    expect(labels).toMatchObject({ order: input.id });
  },
);

test('the schema of the flow is applied: defaults, transformations and refinements', async () => {
  const flow = defineFlow({
    name: 'flow',
    input: z
      .object({ name: z.string().trim(), count: z.coerce.number().default(7) })
      .refine(({ name }) => name !== 'bad', 'a bad name'),
    build: ({ input, task }) => task('show', show, input),
  });
  await using runtime = await createTestRuntime({ flows: [flow] });
  const job = await runtime.start('flow', { name: ' x ' });
  expect(await job.result()).toEqual({ name: 'x', count: 7 });
  const refused = await runtime.start('flow', { name: 'bad' });
  await expect(refused.result()).rejects.toThrow('a bad name');
  const { tasks } = await refused.job();
  expect(tasks.map(({ id, state }) => [id, state])).toEqual([
    ['_input', 'failed'],
    ['show', 'skipped'],
  ]);
  expect(runtime.ran('_input', refused)).toHaveLength(1);
});

test('no task runs for an input that the schema refuses, not even one that tolerates failures', async () => {
  const flow = defineFlow({
    name: 'flow',
    input: z.string().refine((text) => text !== 'bad'),
    build: ({ input, task, failed }) => {
      const first = task('first', show, input);
      task('other', show, 1);
      task('cleanup', show, 2, { when: failed(first) });
    },
  });
  await using runtime = await createTestRuntime({ flows: [flow] });
  const job = await runtime.start('flow', 'bad');
  await expect(job.result()).rejects.toThrow('failed at task _input');
  for (const id of ['first', 'other', 'cleanup']) expect(runtime.ran(id)).toEqual([]);
});

test('an input that does not fit is refused before anything is stored', async () => {
  await using runtime = await createTestRuntime({ flows: [order] });
  await expect(runtime.start('order', { ...INPUTS[0], cents: '5' })).rejects.toMatchObject({
    code: 'bad_input',
    path: '/input/cents',
  });
  await expect(runtime.start('ordre', {})).rejects.toThrow("Did you mean 'order'?");
});

test('a key that the schema changes fails the job', async () => {
  const flow = defineFlow({
    name: 'flow',
    input: z.object({ id: z.string().toLowerCase() }),
    build: ({ input, task }) => task('show', show, { id: input.id }, { idempotencyKey: input.id }),
  });
  await using runtime = await createTestRuntime({ flows: [flow] });
  expect(await (await runtime.start('flow', { id: 'a' })).result()).toEqual({ id: 'a' });
  const changed = await runtime.start('flow', { id: 'A' });
  await expect(changed.result()).rejects.toThrow('changes this field');
  expect(runtime.ran('show', changed)).toEqual([]);
});

test('a task calls a flow that it knows by name only', async () => {
  const remote = externalFlow<{ readonly n: number }, { readonly n: number }>('remote');
  const target = defineFlow({
    name: 'remote',
    input: z.object({ n: z.number() }),
    build: ({ input, task }) => task('show', show, { n: input.n }),
  });
  const caller = defineTask({
    name: 'caller',
    run: async (_, ctx) => (await ctx.call('it', remote, { n: 2 })).n,
  });
  await using runtime = await createTestRuntime({ flows: [target], tasks: [caller] });
  expect(await (await runtime.submit(caller)).result()).toBe(2);
  expect(await (await runtime.submit(remote, { n: 3 })).result()).toEqual({ n: 3 });
  const unknown = defineTask({
    name: 'unknown',
    run: (_, ctx) => ctx.call('it', externalFlow('nowhere'), null),
  });
  await expect((await runtime.submit(unknown)).result()).rejects.toThrow(
    "There is no flow 'nowhere'",
  );
});

test.each([
  [
    'the standard way',
    { jsonSchema: { input: () => ({ type: 'string' }) } },
    {},
    { type: 'string' },
  ],
  ['the way of zod', {}, { toJSONSchema: () => ({ type: 'number' }) }, { type: 'number' }],
  ['the way of arktype', {}, { toJsonSchema: () => ({ type: 'null' }) }, { type: 'null' }],
  ['none, if there is no way', {}, {}, {}],
  [
    'none, if the library fails',
    {
      jsonSchema: {
        input: () => {
          throw new Error('no');
        },
      },
    },
    {},
    {},
  ],
  ['none, if it is not an object', {}, { toJSONSchema: () => [1] }, {}],
])('the JSON Schema of an input is made in %s', (_, standard, more, made) => {
  const schema = {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value: unknown) => ({ value }),
      ...standard,
    },
    ...more,
  };
  expect(jsonSchemaOf(schema as never)).toEqual(made);
});
