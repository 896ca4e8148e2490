import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defaultSettings, parseJobDocument } from '../../scheduler/core/index.ts';
import { builtIns, defineFlow, defineTask } from './index.ts';

const charge = defineTask({
  name: 'charge',
  input: z.object({ order: z.string(), cents: z.number(), note: z.string().optional() }),
  retry: { maxAttempts: 5, backoffMs: 100 },
  run: () => ({ receipt: 'r', ok: true, cents: 5 }),
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

describe('an input that does not fit', () => {
  const flow = defineFlow({
    name: 'order',
    input: input.extend({ deep: z.unknown().optional() }),
    build: ({ input, task }) => void task('a', builtIns.echo, [input.pages[1]!, input.deep]),
  });

  test('is refused with its place', () => {
    expect(() => flow.toDocument({ id: 'o', cents: 'x' as unknown as number })).toThrow(
      /^\/cents: The input of flow 'order' does not match its schema: /,
    );
  });

  test('is refused when a task needs what is not there', () => {
    expect(() => flow.toDocument({ id: 'o', cents: 1, pages: [1], deep: 1 })).toThrow(
      "/pages/1: Flow 'order', task 'a' needs input.pages[1], which is missing in the input.",
    );
    expect(() => flow.toDocument({ id: 'o', cents: 1, pages: [1, 2] })).toThrow(
      "/deep: Flow 'order', task 'a' needs input.deep, which is missing in the input.",
    );
    const inside = defineFlow({
      name: 'inside',
      input: z.object({ any: z.json() }),
      build: ({ input, task }) =>
        void task(
          'a',
          builtIns.echo,
          (input.any as unknown as typeof flow & { x: { y: null } }).x.y,
        ),
    });
    expect(() => inside.toDocument({ any: 5 })).toThrow('/any/x/y: Flow');
    expect(() => inside.toDocument({ any: {} })).toThrow('/any/x/y: Flow');
    expect(inside.toDocument({ any: { x: { y: null } } })).toMatchObject({
      tasks: [{ input: null }],
    });
    expect(inside.toDocument({ any: { x: {} } })).toEqual({
      name: 'inside',
      tasks: [{ id: 'a', executor: 'echo' }],
    });
  });

  test('is refused when it has nothing for a key or a comparison', () => {
    const keyed = defineFlow({
      name: 'keyed',
      input: z.object({
        keys: z.record(z.string(), z.string()),
        n: z.record(z.string(), z.number()),
      }),
      build: ({ input, task, is }) => {
        const paid = task(
          'pay',
          charge,
          { order: 'o', cents: 1 },
          { idempotencyKey: input.keys['a']! },
        );
        task('b', 'echo', 1, { when: is(paid.cents, '<', input.n['max']!) });
      },
    });
    expect(() => keyed.toDocument({ keys: {}, n: { max: 1 } })).toThrow(
      "/keys/a: Flow 'keyed', task 'pay' needs input.keys.a, which is missing in the input.",
    );
    expect(() => keyed.toDocument({ keys: { a: 'k' }, n: {} })).toThrow(
      "/n/max: Flow 'keyed', task 'b' needs input.n.max",
    );
    expect(parsed(keyed.toDocument({ keys: { a: 'k' }, n: { max: 1 } }))).toMatchObject({
      tasks: [{ idempotencyKey: 'k' }, { when: [{ $from: 'pay', path: '/cents', '<': 1 }] }],
    });
  });

  test('stays data, also where it looks like a reference', () => {
    const deep = [{ $from: 'a' }];
    const document = parsed(flow.toDocument({ id: 'o', cents: 1, pages: [1, 2], deep }));
    expect(document).toMatchObject({ tasks: [{ input: [2, { $literal: deep }] }] });
  });

  test('is refused by a flow that takes none', () => {
    const none = defineFlow({ name: 'none', build: ({ task }) => void task('a', 'echo') });
    expect(none.toDocument(null)).toEqual({ name: 'none', tasks: [{ id: 'a', executor: 'echo' }] });
    expect(() => none.toDocument({} as unknown as null)).toThrow("Flow 'none': it takes no input.");
  });
});
