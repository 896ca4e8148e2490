/** What compiles and what does not. `tsc` checks this file; running it only shows that it loads. */
import { describe, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import type { Json } from '../../scheduler/core/index.ts';
import type { Callable, FlowDefinition, Mappable, TaskContext } from '../executors/index.ts';
import {
  builtIns,
  defineFlow,
  defineTask,
  externalTask,
  type Flow,
  type InputRef,
  type Jsonified,
  type Ref,
  type Settled,
  type Task,
  type TaskRef,
  type WiredJson,
} from './index.ts';
import type { Missing } from './ref.ts';

/** For what only the compiler is to look at: it stands below a line that expects an error. */
const expectRefusal = (_code: () => unknown): void => {};

const charge = defineTask({
  name: 'charge',
  input: z.object({ order: z.string(), cents: z.number().int() }),
  output: z.object({ receipt: z.string(), ok: z.boolean(), note: z.string().optional() }),
  run: (input) => ({ receipt: `${input.order}:${input.cents}`, ok: true }),
});
const ship = defineTask({
  name: 'ship',
  input: z.object({ receipt: z.string(), note: z.string().optional() }),
  run: async ({ receipt }) => ({ parcel: receipt, weights: [1, 2], at: new Date() }),
});
const render = defineTask({
  name: 'render',
  input: z.object({ page: z.number() }),
  run: ({ page }) => ({ url: `p${page}` }),
});
const orderInput = z.object({
  id: z.string(),
  cents: z.number(),
  express: z.boolean(),
  tier: z.enum(['gold', 'silver']),
  note: z.string().optional(),
  pages: z.array(z.object({ page: z.number() })),
});

const quiet = defineFlow({ name: 'quiet', build: ({ task }) => void task('a', builtIns.echo, 1) });

describe('a task', () => {
  test('has the types of its schemas', () => {
    expectTypeOf(charge).toEqualTypeOf<
      Task<
        { order: string; cents: number },
        { receipt: string; ok: boolean; note?: string | undefined }
      >
    >();
    expectTypeOf(charge).toExtend<
      Callable<{ order: string; cents: number }, { receipt: string }>
    >();
    expectTypeOf(charge).toExtend<
      Mappable<{ order: string; cents: number }, { receipt: string }>
    >();
  });

  test('without a schema has the types of its handler, as JSON', () => {
    const plain = defineTask({
      name: 'plain',
      run: async (input: { a: number }, ctx) => {
        expectTypeOf(ctx).toEqualTypeOf<TaskContext>();
        return { at: new Date(), a: input.a };
      },
    });
    expectTypeOf(plain).toEqualTypeOf<Task<{ a: number }, { at: string; a: number }>>();
    const bare = defineTask({
      name: 'bare',
      run: (input) => void expectTypeOf(input).toEqualTypeOf<Json>(),
    });
    expectTypeOf(bare).toEqualTypeOf<Task<Json, null>>();
  });

  test('receives the output of its schema, and is called with the input of it', () => {
    const task = defineTask({
      name: 'later',
      input: z.object({
        at: z.string().transform((text) => new Date(text)),
        n: z.number().default(1),
      }),
      run: (input) => {
        expectTypeOf(input).toEqualTypeOf<{ at: Date; n: number }>();
        return input.at.getTime();
      },
    });
    expectTypeOf(task).toEqualTypeOf<Task<{ at: string; n?: number | undefined }, number>>();
  });

  test('is submitted from a handler with the input of its schema, and answers an id', () => {
    const mail = defineTask({ name: 'mail', input: z.object({ to: z.string() }), run: () => 1 });
    defineTask({
      name: 'signup',
      run: async (_input, ctx) => {
        const id = await ctx.submit('m', mail, { to: 'ada' }, { delay: '3d', labels: { a: 'b' } });
        expectTypeOf(id).toExtend<string>();
        // @ts-expect-error: `to` is missing.
        await ctx.submit('n', mail, {});
        // @ts-expect-error: the name of the submission identifies the job.
        await ctx.submit('o', mail, { to: 'ada' }, { idempotencyKey: 'x' });
      },
    });
  });

  test('must return what its output schema takes', () => {
    defineTask({
      name: 'bad',
      output: z.object({ receipt: z.string() }),
      // @ts-expect-error receipt is text
      run: () => ({ receipt: 1 }),
    });
    defineTask({
      name: 'bad2',
      output: z.object({ receipt: z.string() }),
      // @ts-expect-error receipt is missing
      run: async () => ({}),
    });
    // @ts-expect-error there is no such option
    expectRefusal(() => defineTask({ name: 'bad3', retries: 3, run: () => 1 }));
  });
});

describe('the wiring of a flow', () => {
  test('gives every reference its type', () => {
    const flow = defineFlow({
      name: 'order',
      input: orderInput,
      build: ({ input, task, map, orNull, orNullIfFailed }) => {
        expectTypeOf(input).toEqualTypeOf<InputRef<z.output<typeof orderInput>>>();
        const paid = task('charge', charge, { order: input.id, cents: input.cents });
        expectTypeOf(paid.receipt).toEqualTypeOf<TaskRef<string>>();
        expectTypeOf(paid.note).toEqualTypeOf<TaskRef<string | Missing>>();
        const pages = map('pages', render, input.pages, { concurrency: 4 });
        expectTypeOf(pages).toEqualTypeOf<TaskRef<{ url: string }[]>>();
        const sent = task(
          'ship',
          ship,
          { receipt: paid.receipt, note: input.note },
          { after: [pages] },
        );
        expectTypeOf(sent.at).toEqualTypeOf<TaskRef<string>>();
        expectTypeOf(orNull(sent.parcel)).toEqualTypeOf<Ref<string | null, 'task'>>();
        expectTypeOf(orNullIfFailed(sent.parcel)).toEqualTypeOf<Ref<string | null, 'task'>>();
        return {
          paid: paid.receipt,
          pages,
          note: paid.note,
          maybe: orNull(sent.parcel),
          list: [sent.at, 1],
        };
      },
    });
    expectTypeOf(flow).toEqualTypeOf<
      Flow<
        z.input<typeof orderInput>,
        {
          paid: string;
          pages: { url: string }[];
          note: string | null;
          maybe: string | null;
          list: [string, 1];
        }
      >
    >();
    expectTypeOf(flow).toExtend<FlowDefinition>();
    expectTypeOf(flow).toExtend<Callable<z.input<typeof orderInput>, { paid: string }>>();
  });

  test('of a flow that returns nothing answers nothing, and one without a schema takes nothing', () => {
    expectTypeOf(quiet).toEqualTypeOf<Flow<null | undefined | void, undefined>>();
    // @ts-expect-error it takes no input
    expectRefusal(() => quiet.toDocument({ a: 1 }));
  });

  test('does not compile where a value has the wrong type or is missing', () => {
    defineFlow({
      name: 'wrong',
      input: orderInput,
      build: ({ input, task, map, failed, skipped, orNull, orNullIfFailed }) => {
        const paid = task('charge', charge, { order: input.id, cents: 5 });
        // @ts-expect-error cents is missing
        task('t1', charge, { order: input.id });
        // @ts-expect-error cents is a number
        task('t2', charge, { order: 'o', cents: input.id });
        // @ts-expect-error no input at all
        expectRefusal(() => task('t3', charge));
        // @ts-expect-error there is no such field in the result
        expectRefusal(() => paid.reciept);
        // @ts-expect-error a boolean is not text
        task('t5', ship, { receipt: paid.ok });
        // @ts-expect-error there is no such field in the input
        task('t6', ship, { receipt: paid.receipt, nota: 'x' });
        // @ts-expect-error the field may be missing in the result
        task('t7', ship, { receipt: paid.note });
        // @ts-expect-error nor may it stand where a field may be left out: the job would fail
        task('t8', ship, { receipt: 'r', note: paid.note });
        // @ts-expect-error a part of the input that may be missing, where it is needed
        task('t9', ship, { receipt: input.note });
        // @ts-expect-error a list of something else
        map('m1', render, [{ page: 'one' }]);
        // @ts-expect-error not a list
        expectRefusal(() => map('m2', render, input.id));
        map('m3', charge, [{ cents: 1 }], { with: { order: input.id } });
        // @ts-expect-error what is shared has the wrong type
        map('m4', charge, [{ cents: 1 }], { with: { order: 5 } });
        // @ts-expect-error neither the item nor what is shared has it
        map('m5', charge, [{}], { with: { order: 'o' } });
        // @ts-expect-error where null will not do, what may be null does not fit
        task('t16', ship, { receipt: orNull(paid.receipt) });
        // @ts-expect-error nor does what is null after a failure
        task('t17', ship, { receipt: orNullIfFailed(paid.receipt) });
        // @ts-expect-error the input cannot fail
        expectRefusal(() => orNullIfFailed(input.id));
        // @ts-expect-error nor can it be skipped
        expectRefusal(() => task('t18', ship, { receipt: 'r' }, { when: skipped(input.id) }));
        // @ts-expect-error a part of a result does not end, the task does
        expectRefusal(() => task('t15', ship, { receipt: 'r' }, { when: failed(input.id) }));
        // @ts-expect-error the whole result does not fit
        task('t10', charge, paid);
        // @ts-expect-error there is no such option
        expectRefusal(() => task('t11', ship, { receipt: 'r' }, { retries: 3 }));
        // @ts-expect-error the input is not a task
        expectRefusal(() => task('t12', ship, { receipt: 'r' }, { after: [input.id] }));
        // @ts-expect-error a result is known too late to be a key
        expectRefusal(() => task('t13', ship, { receipt: 'r' }, { idempotencyKey: paid.receipt }));
        // @ts-expect-error a flow is not a task
        expectRefusal(() => task('t14', quiet, null));
      },
    });
  });

  test('takes a whole result, a reference inside data, and tuples and lists by place', () => {
    defineFlow({
      name: 'right',
      input: orderInput,
      build: ({ input, task, map }) => {
        const paid = task('charge', charge, { order: 'o', cents: input.cents });
        task('whole', ship, paid);
        const list = map('pages', render, [{ page: 1 }, { page: input.cents }, input.pages[0]!]);
        task('first', ship, { receipt: list[0]!.url });
        const sent = task('ship', ship, { receipt: paid.receipt }, { idempotencyKey: input.id });
        expectTypeOf(sent.weights[0]!).toEqualTypeOf<TaskRef<number>>();
        const fetched = task('fetch', builtIns.http, {
          url: 'https://example.org',
          headers: { a: input.id },
        });
        expectTypeOf(fetched.body).toEqualTypeOf<TaskRef<Json>>();
        const other = task('other', 'somewhere-else', {
          deep: [{ er: fetched.body['rows'], and: paid }],
        });
        expectTypeOf(other).toEqualTypeOf<TaskRef<Json>>();
        task('none', 'no-input');
        const typed = task('typed', externalTask<{ image: string }, { width: number }>('resize'), {
          image: paid.receipt,
        });
        expectTypeOf(typed.width).toEqualTypeOf<TaskRef<number>>();
        task('cast', render, { page: fetched.body['page'] as Ref<number> });
      },
    });
  });

  test('takes any JSON, by whichever name', () => {
    const any = defineTask({ name: 'any', input: z.json(), run: (input) => input });
    const flow = defineFlow({
      name: 'any',
      input: z.object({ data: z.json(), odd: z.unknown() }),
      build: ({ input, task }) => {
        expectTypeOf(input.data['x']!).toEqualTypeOf<InputRef<Json>>();
        const one = task('one', any, input.data);
        const two = task('two', any, [{ a: one, b: input.odd, c: undefined }]);
        return [one, two, { three: two }] as WiredJson;
      },
    });
    expectTypeOf(flow.readResult(1)).toEqualTypeOf<Json>();
    expectTypeOf<Settled<TaskRef<Json>>>().toEqualTypeOf<Json>();
  });

  test('of conditions compares like with like', () => {
    defineFlow({
      name: 'conditions',
      input: orderInput,
      build: ({ input, task, is }) => {
        const paid = task('charge', charge, { order: 'o', cents: 1 });
        const receipt = { receipt: paid.receipt };
        task('a', ship, receipt, { when: paid.ok });
        task('b', ship, receipt, { when: [paid.note, is(paid.receipt, '!=', ''), input.express] });
        task('c', ship, receipt, { when: is(input.tier, 'in', ['gold']) });
        task('d', ship, receipt, { when: is(paid.receipt, '>', input.id) });
        // @ts-expect-error there is no such tier
        is(input.tier, '=', 'bronze');
        // @ts-expect-error a number
        is(input.cents, '>', '5');
        // @ts-expect-error true and false are not more or less
        is(paid.ok, '>', true);
        // @ts-expect-error a list is wanted
        is(input.cents, 'in', 5);
        // @ts-expect-error a plain value is decided now, not when the job runs
        expectRefusal(() => task('e', ship, receipt, { when: true }));
        // @ts-expect-error references are compared with `is`
        expectRefusal(() => task('f', ship, receipt, { when: paid.receipt === 'x' }));
      },
    });
  });

  test('does not let a reference be awaited or calculated with', () => {
    defineFlow({
      name: 'misuse',
      input: orderInput,
      build: ({ input, task }) => {
        task('a', builtIns.echo, 1);
        // @ts-expect-error there is nothing to await
        // oxlint-disable-next-line typescript/await-thenable
        expectRefusal(async () => void (await input.id));
        // @ts-expect-error it is not a number
        expectRefusal(() => input.cents + 1);
        // @ts-expect-error it has no methods
        expectRefusal(() => input.id.toUpperCase);
        // @ts-expect-error it has no length
        expectRefusal(() => input.pages.length);
      },
    });
  });
});

test('what JSON makes of a type', () => {
  expectTypeOf<Jsonified<Date>>().toEqualTypeOf<string>();
  expectTypeOf<Jsonified<undefined>>().toEqualTypeOf<null>();
  expectTypeOf<Jsonified<unknown>>().toEqualTypeOf<Json>();
  expectTypeOf<Jsonified<'a' | 1 | null>>().toEqualTypeOf<'a' | 1 | null>();
  expectTypeOf<Jsonified<(Date | undefined)[]>>().toEqualTypeOf<(string | null)[]>();
  expectTypeOf<Jsonified<{ a: Date; b?: () => void; c?: Date; d: unknown }>>().toEqualTypeOf<{
    a: string;
    c?: string;
    d: Json;
  }>();
  expectTypeOf<Jsonified<Map<string, number>>>().toBeNever();
  expectTypeOf<Jsonified<bigint>>().toBeNever();
});

test('what a step gives back is what JSON makes of it, in the first attempt and in all later ones', () => {
  defineTask({
    name: 'stepping',
    run: async (_input, ctx) => {
      expectTypeOf(await ctx.step('a', () => new Date())).toEqualTypeOf<string>();
      const schema = z.object({ by: z.string() });
      expectTypeOf(ctx.waitFor('x', { schema })).resolves.toEqualTypeOf<{ by: string }>();
      expectTypeOf(ctx.waitFor('x', { schema, timeout: '1d' })).resolves.toEqualTypeOf<
        { by: string } | undefined
      >();
      expectTypeOf(ctx.waitFor<number>('x', { timeout: 1 })).resolves.toEqualTypeOf<
        number | undefined
      >();
      const made = await ctx.step('b', async () => ({ at: new Date(), n: 1, of: ['x'] }));
      expectTypeOf(made).toEqualTypeOf<{ at: string; n: number; of: string[] }>();
      expectTypeOf(await ctx.step('c', () => {})).toEqualTypeOf<null>();
      // oxlint-disable-next-line typescript/no-unsafe-return -- what it does with it is the question
      expectTypeOf(await ctx.step('d', () => JSON.parse('1'))).toBeAny();
      const n: number = await ctx.step('e', () => 1);
      return n;
    },
  });
});
