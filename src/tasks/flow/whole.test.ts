/** Flows as they run: a leader, a worker and the executors, on a clock of their own. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { createTestRuntime } from '../../testing/index.ts';
import { defineFlow, defineTask } from './index.ts';

const charge = defineTask({
  name: 'charge',
  input: z.object({ order: z.string(), cents: z.number() }),
  output: z.object({ receipt: z.string(), cents: z.number(), note: z.string().optional() }),
  run: ({ order, cents }) => ({ receipt: `${order}-${cents}`, cents }),
});
const render = defineTask({
  name: 'render',
  input: z.object({ page: z.number() }),
  run: ({ page }) => ({ url: `/${page}` }),
});
const tell = defineTask({
  name: 'tell',
  input: z.object({ receipt: z.string().nullable(), note: z.string().optional() }),
  run: ({ receipt, note }) => `${receipt}, ${note ?? 'no note'}`,
});

const order = defineFlow({
  name: 'order',
  input: z.object({
    id: z.string(),
    cents: z.number(),
    express: z.boolean().default(false),
    note: z.string().optional(),
    pages: z.array(z.object({ page: z.number() })),
  }),
  build: ({ input, task, map, orNull, is }) => {
    const paid = task('pay', charge, { order: input.id, cents: input.cents });
    const pages = map('pages', render, input.pages, { concurrency: 2 });
    const big = task('big', tell, { receipt: paid.receipt }, { when: is(paid.cents, '>', 100) });
    const fast = task('fast', tell, { receipt: paid.receipt }, { when: input.express });
    const after = task('after', tell, { receipt: 'x' }, { after: [fast] });
    const all = task(
      'all',
      tell,
      { receipt: orNull(big), note: input.note },
      { optional: [after] },
    );
    return {
      receipt: paid.receipt,
      note: paid.note,
      pages,
      second: pages[1]!.url,
      big: orNull(big),
      after: orNull(after),
      all,
    };
  },
});

test('a flow answers what its types say, with what was skipped as null', async () => {
  const runtime = await createTestRuntime({ flows: [order] });
  const pages = [{ page: 1 }, { page: 2 }, { page: 3 }];
  const small = await runtime.submit(order, { id: 'a', cents: 5, pages, note: 'n' });
  expect(await small.result()).toEqual({
    receipt: 'a-5',
    note: null,
    pages: [{ url: '/1' }, { url: '/2' }, { url: '/3' }],
    second: '/2',
    big: null,
    after: null,
    all: 'null, n',
  });
  const big = await runtime.submit(order, { id: 'b', cents: 500, pages, express: true });
  expect(await big.result()).toMatchObject({
    big: 'b-500, no note',
    after: 'x, no note',
    all: 'b-500, no note, no note',
  });
  await runtime.close();
});

test('a compensation runs when the task did not succeed, and only then', async () => {
  const ship = defineTask({
    name: 'ship',
    input: z.object({ to: z.string() }),
    retry: { maxAttempts: 1 },
    run: ({ to }) => {
      if (to === 'nowhere') throw new Error('no such place');
      return to;
    },
  });
  const flow = defineFlow({
    name: 'shipping',
    input: z.object({ to: z.string() }),
    build: ({ input, task, failed, succeeded, orNull }) => {
      const shipped = task('ship', ship, input);
      const undo = task('undo', tell, { receipt: 'undone' }, { when: failed(shipped) });
      const thank = task('thank', tell, { receipt: 'thanks' }, { when: succeeded(shipped) });
      return { undo: orNull(undo), thank: orNull(thank) };
    },
  });
  expect(flow.graph.tasks.map(({ when }) => when)).toEqual([
    [],
    ['ship failed'],
    ['ship succeeded'],
  ]);
  const runtime = await createTestRuntime({ flows: [flow] });
  const good = await runtime.submit(flow, { to: 'here' });
  expect(await good.result()).toEqual({ undo: null, thank: 'thanks, no note' });
  const bad = await runtime.submit(flow, { to: 'nowhere' });
  await expect(bad.result()).rejects.toThrow('no such place');
  const { tasks } = await bad.job();
  expect(tasks.map(({ id, state }) => `${id} ${state}`)).toEqual([
    'ship failed',
    'undo succeeded',
    'thank skipped',
  ]);
  await runtime.close();
});

test('fields that all items share are given once', async () => {
  const flow = defineFlow({
    name: 'shared',
    input: z.object({ order: z.string() }),
    build: ({ input, map }) =>
      map('charges', charge, [{ cents: 1 }, { cents: 2 }], { with: { order: input.order } }),
  });
  const runtime = await createTestRuntime({ flows: [flow] });
  const job = await runtime.submit(flow, { order: 'o' });
  expect(await job.result()).toMatchObject([{ receipt: 'o-1' }, { receipt: 'o-2' }]);
  await runtime.close();
});
