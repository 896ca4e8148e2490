import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  type JsonObject,
  defaultSettings,
  flowDocument,
  parseJobDocument,
} from '../../scheduler/core/index.ts';
import { defineFlow, defineTask } from './index.ts';

const charge = defineTask({
  name: 'charge',
  input: z.object({ order: z.string(), cents: z.number() }),
  run: () => ({ receipt: 'r' }),
});
const input = z.object({
  id: z.string(),
  cents: z.number(),
  note: z.string().optional(),
  pages: z.array(z.number()).default([]),
});

/** Also shows that a server would take it. */
function parsed(document: unknown): unknown {
  parseJobDocument(document, defaultSettings);
  return document;
}

describe('limits and fairness of a flow', () => {
  test('take their keys from the input, and join those of the task', () => {
    const api = defineTask({
      name: 'api',
      input: z.object({ order: z.string() }),
      limits: [{ key: 'api', max: 10, perMs: 1_000 }],
      run: () => 1,
    });
    const flow = defineFlow({
      name: 'order',
      input,
      fairnessKey: (order) => order.id,
      build: ({ input, task }) =>
        task(
          'call',
          api,
          { order: input.id },
          {
            limits: [
              { key: ['tenant', input.id], max: 2 },
              { key: input.id, max: 5, perMs: 60_000 },
              { key: 'fixed', max: 1 },
            ],
          },
        ),
    });
    expect(parsed(flow.toDocument({ id: 'A-7', cents: 1 }))).toMatchObject({
      fairnessKey: 'A-7',
      tasks: [
        {
          limits: [
            { key: 'api', max: 10, perMs: 1_000 },
            { key: 'tenant:A-7', max: 2 },
            { key: 'A-7', max: 5, perMs: 60_000 },
            { key: 'fixed', max: 1 },
          ],
        },
      ],
    });
  });

  test('are checked when the task or the flow is defined', () => {
    const define = (limits: object): unknown =>
      defineTask({ name: 'api', limits: [limits] as never, run: () => 1 });
    expect(() => define({ key: 'a', max: 0 })).toThrow('/limits/0/max');
    expect(() => define({ key: 'a', max: 1e12, perMs: 1 })).toThrow('/limits/0/max');
    expect(() => define({ key: 7, max: 1 })).toThrow('/limits/0/key');
    expect(() =>
      defineFlow({
        name: 'order',
        input,
        fairnessKey: 7 as never,
        build: ({ input, task }) => task('pay', charge, { order: input.id, cents: input.cents }),
      }),
    ).toThrow("'fairnessKey': it must be text or a part of the input");
  });
});

test('a debounce key comes with the input', () => {
  const flow = defineFlow({
    name: 'order',
    input,
    debounce: { key: (order) => order.id, ms: 500, maxMs: 5_000 },
    build: ({ input, task }) => task('pay', charge, { order: input.id, cents: input.cents }),
  });
  expect(parsed(flow.toDocument({ id: 'A-7', cents: 1 }))).toMatchObject({
    debounce: { key: 'A-7', ms: 500, maxMs: 5_000 },
  });
});

test('a flow that is started by its name has the same keys', () => {
  const flow = defineFlow({
    name: 'order',
    input,
    fairnessKey: (order) => order.id,
    debounce: { key: (order) => order.id, ms: 500 },
    build: ({ input, task }) =>
      task(
        'pay',
        charge,
        { order: input.id, cents: input.cents },
        {
          limits: [
            { key: 'all', max: 9 },
            { key: ['tenant', input.id], max: 1, perMs: 1_000 },
          ],
        },
      ),
  });
  const given = { id: 'A-7', cents: 1 };
  const started = flowDocument(flow.declaration(), given, '/input', 1_000_000);
  const submitted = flow.toDocument(given) as JsonObject;
  parseJobDocument(started, defaultSettings);
  expect(started).toMatchObject({
    fairnessKey: 'A-7',
    debounce: { key: 'A-7', ms: 500 },
    tasks: [{ id: '_input' }, { limits: (submitted['tasks'] as JsonObject[])[0]?.['limits'] }],
  });
  expect((submitted['tasks'] as JsonObject[])[0]?.['limits']).toEqual([
    { key: 'all', max: 9 },
    { key: 'tenant:A-7', max: 1, perMs: 1_000 },
  ]);
});

describe('search fields of a flow', () => {
  const found = defineFlow({
    name: 'order',
    input,
    search: (order) => ({ order: order.id, cents: order.cents, note: order.note, kind: 'web' }),
    build: ({ input, task }) => task('pay', charge, { order: input.id, cents: input.cents }),
  });

  test('become labels of its jobs; what the input lacks is left out', () => {
    expect(parsed(found.toDocument({ id: 'A-7', cents: 250 }))).toMatchObject({
      labels: { order: 'A-7', cents: '250', kind: 'web' },
    });
    expect(found.toDocument({ id: 'A-7', cents: 250, note: 'late' })).toMatchObject({
      labels: { note: 'late' },
    });
  });

  test('are text or numbers', async () => {
    const wrong = defineFlow({
      name: 'order',
      input,
      search: (order) => ({ pages: order.pages }),
      build: ({ input, task }) => task('pay', charge, { order: input.id, cents: input.cents }),
    });
    expect(() => wrong.toDocument({ id: 'A-7', cents: 250 })).toThrow("'pages' is a list");
    expect(() =>
      defineFlow({
        name: 'order',
        input,
        search: 'id' as never,
        build: ({ input, task }) => task('pay', charge, { order: input.id, cents: input.cents }),
      }),
    ).toThrow('it must be a function');
  });
});

test('a flow says what is kept of its jobs, submitted or started by name', () => {
  const flow = defineFlow({
    name: 'order',
    input,
    keep: 'failed',
    build: ({ input: order, task }) => task('pay', charge, { order: order.id, cents: order.cents }),
  });
  const given = { id: 'A-7', cents: 250 };
  expect(parsed(flow.toDocument(given))).toMatchObject({ keep: 'failed' });
  const byName = flowDocument(flow.declaration(), given, '', 10_000);
  expect(parsed(byName)).toMatchObject({ keep: 'failed' });
  const wrong = (): unknown =>
    defineFlow({ name: 'order', keep: 'some' as never, build: ({ task }) => task('a', 'echo', 1) });
  expect(wrong).toThrow("Must be one of 'all', 'failed', 'none'");
});
