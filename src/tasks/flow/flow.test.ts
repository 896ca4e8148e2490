import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defaultSettings, parseJobDocument } from '../../scheduler/core/index.ts';
import type { Json } from '../../scheduler/core/index.ts';
import { builtIns, defineFlow, defineTask, externalTask } from './index.ts';

const charge = defineTask({
  name: 'charge',
  input: z.object({ order: z.string(), cents: z.number(), note: z.string().optional() }),
  retry: { maxAttempts: 5, backoffMs: 100 },
  run: () => ({ receipt: 'r', ok: true, cents: 5 }),
});
const ship = defineTask({
  name: 'ship',
  input: z.object({ receipt: z.string().nullable() }),
  run: () => ({ parcel: 'p' }),
});
const render = defineTask({
  name: 'render',
  input: z.number(),
  timeouts: { runMs: 10 },
  placement: { capabilities: { gpu: 'nvidia' } },
  run: (page) => `p${page}`,
});
const input = z.object({
  id: z.string(),
  cents: z.number(),
  note: z.string().optional(),
  express: z.boolean().default(false),
  pages: z.array(z.number()).default([]),
});

/** Also shows that a server would take it. */
function parsed(document: unknown): unknown {
  parseJobDocument(document, defaultSettings);
  return document;
}

describe('the document of a flow', () => {
  test('has references to results, and the input filled in', () => {
    const order = defineFlow({
      name: 'order',
      input,
      priority: 1,
      onFailure: 'cancel',
      maxParallel: 3,
      timeouts: { totalMs: 60_000 },
      build: ({ input, task, map }) => {
        const paid = task('pay', charge, { order: input.id, cents: input.cents, note: input.note });
        const pages = map('pages', render, input.pages, { concurrency: 4 });
        task(
          'send',
          ship,
          { receipt: paid.receipt },
          { after: [pages], retry: { maxAttempts: 2 } },
        );
        return { receipt: paid.receipt, first: pages[0]!, pages, id: input.id, fixed: [1, null] };
      },
    });
    expect(parsed(order.toDocument({ id: 'o', cents: 7, pages: [1, 2] }))).toEqual({
      name: 'order',
      priority: 1,
      onFailure: 'cancel',
      maxParallel: 3,
      timeouts: { totalMs: 60_000 },
      output: {
        receipt: { $from: 'pay', path: '/receipt' },
        first: { $from: 'pages', path: '/0' },
        pages: { $from: 'pages' },
        id: 'o',
        fixed: [1, null],
      },
      tasks: [
        {
          id: 'pay',
          executor: 'charge',
          input: { order: 'o', cents: 7 },
          retry: { maxAttempts: 5, backoffMs: 100 },
        },
        {
          id: 'pages',
          executor: 'map',
          input: {
            items: [1, 2],
            task: {
              executor: 'render',
              timeouts: { runMs: 10 },
              placement: { capabilities: { gpu: 'nvidia' } },
            },
            concurrency: 4,
          },
        },
        {
          id: 'send',
          executor: 'ship',
          input: { receipt: { $from: 'pay', path: '/receipt' } },
          dependsOn: ['pay', 'pages'],
          retry: { maxAttempts: 2 },
        },
      ],
    });
    expect(order.tasks).toEqual([charge, render, ship]);
    expect(order.readResult({ receipt: 'r' })).toEqual({ receipt: 'r' });
  });

  test('escapes the names of fields, and takes whole results', () => {
    const odd = externalTask<Json, { 'a/b': { '~': number } }>('odd');
    const flow = defineFlow({
      name: 'odd',
      build: ({ task }) => {
        const one = task('one', odd);
        const two = task('two', 'elsewhere', [one, one['a/b']['~']]);
        return two;
      },
    });
    expect(parsed(flow.toDocument())).toEqual({
      name: 'odd',
      output: { $from: 'two' },
      tasks: [
        { id: 'one', executor: 'odd' },
        {
          id: 'two',
          executor: 'elsewhere',
          input: [{ $from: 'one' }, { $from: 'one', path: '/a~1b/~0' }],
          dependsOn: ['one'],
        },
      ],
    });
    expect(flow.tasks).toEqual([]);
  });

  test('depends optionally on a task whose result may be null', () => {
    const flow = defineFlow({
      name: 'lenient',
      input,
      build: ({ input, task, orNull, orNullIfFailed, failed }) => {
        const paid = task('pay', charge, { order: 'o', cents: 1 });
        const other = task('other', builtIns.echo, orNull(input.note));
        task('send', ship, { receipt: orNull(paid.receipt) }, { optional: [other] });
        task('both', builtIns.echo, [orNull(paid.receipt), paid.ok, orNullIfFailed(paid.cents)]);
        task('undo', builtIns.echo, orNullIfFailed(paid.receipt), { when: failed(paid) });
      },
    });
    const document = parsed(flow.toDocument({ id: 'o', cents: 1 }));
    expect(document).toMatchObject({
      tasks: [
        {},
        { input: null },
        {
          dependsOn: [
            { id: 'pay', required: 'unlessSkipped' },
            { id: 'other', required: false },
          ],
        },
        { dependsOn: ['pay'] },
        { dependsOn: [{ id: 'pay', required: false }], when: [{ $from: 'pay', failed: true }] },
      ],
    });
    expect(document).not.toHaveProperty('output');
    expect(flow.readResult({ any: 'thing' })).toBeUndefined();
  });

  test('has the conditions, and a task with what they look at in the input', () => {
    const flow = defineFlow({
      name: 'choices',
      input,
      build: ({ input, task, is, orNull }) => {
        const paid = task('pay', charge, { order: 'o', cents: 1 });
        const receipt = { receipt: 'r' };
        task('a', ship, receipt, { when: paid.ok });
        task('b', ship, receipt, { when: [is(paid.cents, '>', input.cents), orNull(paid.ok)] });
        task('c', ship, receipt, { when: [input.express, is(input.note, '=', 'x'), paid] });
        task('d', ship, receipt, { when: is(input.pages[1]!, 'in', [1, 2]) });
      },
    });
    expect(parsed(flow.toDocument({ id: 'o', cents: 5, pages: [1, 9] }))).toMatchObject({
      tasks: [
        { id: '_input', executor: 'echo', input: { 'input.express': false, 'input.pages[1]': 9 } },
        { id: 'pay' },
        { id: 'a', dependsOn: ['pay'], when: [{ $from: 'pay', path: '/ok' }] },
        {
          id: 'b',
          dependsOn: ['pay'],
          when: [
            { $from: 'pay', path: '/cents', '>': 5 },
            { $from: 'pay', path: '/ok' },
          ],
        },
        {
          id: 'c',
          dependsOn: ['pay', '_input'],
          when: [
            { $from: '_input', path: '/input.express' },
            { $from: '_input', path: '/input.note', '=': 'x' },
            { $from: 'pay' },
          ],
        },
        {
          id: 'd',
          dependsOn: ['_input'],
          when: [{ $from: '_input', path: '/input.pages[1]', in: [1, 2] }],
        },
      ],
    });
    expect(flow.graph).toEqual({
      name: 'choices',
      tasks: [
        { id: '_input', executor: 'echo', dependsOn: [], when: [] },
        { id: 'pay', executor: 'charge', dependsOn: [], when: [] },
        needing('a', ['pay'], ['pay.ok']),
        needing('b', ['pay'], ['pay.cents > input.cents', 'pay.ok']),
        needing('c', ['pay', '_input'], ['input.express', 'input.note = "x"', 'pay']),
        needing('d', ['_input'], ['input.pages[1] in [1,2]']),
      ],
    });
  });

  test('has keys that come with the input', () => {
    const flow = defineFlow({
      name: 'keys',
      input,
      build: ({ input, task }) => {
        const receipt = { receipt: 'r' };
        task('a', ship, receipt, {
          idempotencyKey: input.id,
          concurrency: { key: input.id, limit: 3 },
        });
        task('b', ship, receipt, { idempotencyKey: 'fixed', concurrency: { key: 'k', limit: 1 } });
      },
    });
    expect(parsed(flow.toDocument({ id: 'customer', cents: 1 }))).toMatchObject({
      tasks: [
        { idempotencyKey: 'customer', concurrency: { key: 'customer', limit: 3 } },
        { idempotencyKey: 'fixed', concurrency: { key: 'k', limit: 1 } },
      ],
    });
  });

  test('has the options of a map at its items, and its order at the map', () => {
    const flow = defineFlow({
      name: 'mapped',
      input,
      build: ({ task, map }) => {
        const paid = task('pay', charge, { order: 'o', cents: 1 });
        return map('pages', render, [1, paid.cents], {
          retry: { maxAttempts: 9 },
          timeouts: { totalMs: 5 },
          priority: 0,
          idempotencyKey: 'once',
          after: [paid],
        });
      },
    });
    expect(parsed(flow.toDocument({ id: 'o', cents: 1 }))).toMatchObject({
      output: { $from: 'pages' },
      tasks: [
        {},
        {
          id: 'pages',
          executor: 'map',
          dependsOn: ['pay'],
          priority: 0,
          idempotencyKey: 'once',
          input: {
            items: [1, { $from: 'pay', path: '/cents' }],
            task: {
              executor: 'render',
              retry: { maxAttempts: 9 },
              timeouts: { runMs: 10, totalMs: 5 },
              placement: { capabilities: { gpu: 'nvidia' } },
              priority: 0,
            },
          },
        },
      ],
    });
    expect(flow.graph.tasks[1]).toEqual({
      id: 'pages',
      executor: 'map',
      of: 'render',
      dependsOn: [{ id: 'pay', required: true }],
      when: [],
    });
  });

  test('does not change when what it was built from does', () => {
    const data = { list: [1] };
    const flow = defineFlow({
      name: 'fixed',
      build: ({ task }) => void task('a', builtIns.echo, data),
    });
    data.list.push(2);
    expect(flow.toDocument()).toMatchObject({ tasks: [{ input: { list: [1] } }] });
  });

  test('waits for a schema that answers later', async () => {
    const flow = defineFlow({
      name: 'slow',
      input: z.object({ n: z.number().refine(async (n) => n > 0) }),
      build: ({ input, task }) => void task('a', builtIns.echo, input),
    });
    expect(parsed(await flow.toDocument({ n: 1 }))).toMatchObject({ tasks: [{ input: { n: 1 } }] });
    await expect(flow.toDocument({ n: 0 })).rejects.toMatchObject({
      code: 'bad_input',
      path: '/n',
    });
  });

  test('contains the schema’s output as JSON', () => {
    const flow = defineFlow({
      name: 'dates',
      input: z.object({ at: z.date(), n: z.string().transform(Number) }),
      build: ({ input, task }) => void task('a', builtIns.echo, [input.at, input.n]),
    });
    expect(flow.toDocument({ at: new Date(0), n: '5' })).toMatchObject({
      tasks: [{ input: ['1970-01-01T00:00:00.000Z', 5] }],
    });
  });
});

function needing(id: string, on: readonly string[], when: readonly string[]): unknown {
  const dependsOn = on.map((each) => ({ id: each, required: true }));
  return { id, executor: 'ship', dependsOn, when };
}
