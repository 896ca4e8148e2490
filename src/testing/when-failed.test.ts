/** What runs once a job has failed, in the test kit. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { type Failure, defineFlow, defineTask, FatalError } from '../client/millrace.ts';
import { createTestRuntime } from './index.ts';

const card = z.object({ order: z.string(), region: z.string().default('eu') });
const refuse = (): never => {
  throw Object.assign(new FatalError('the card was refused'), { code: 'no_money' });
};
const charge = defineTask({ name: 'charge', input: card, run: refuse });

function world() {
  const seen: Failure[] = [];
  const order = defineFlow({
    name: 'order',
    input: card,
    build: ({ input, task }) => task('pay', charge, { order: input.order }),
    whenFailed: (failure) => {
      // The type of the input is that of the flow.
      const text: string | undefined = failure.input?.order;
      seen.push(failure as Failure);
      return text;
    },
  });
  return { seen, order };
}

test('a flow that has failed runs its hook once, with job, input and error', async () => {
  const { seen, order } = world();
  await using runtime = await createTestRuntime({ flows: [order] });
  const submitted = await runtime.submit(order, { order: 'A-7' }, { name: 'mine' });
  await expect(submitted.result()).rejects.toThrow('the card was refused');
  await runtime.settle();
  const labels = { tenant: 'acme' };
  const started = await runtime.start('order', { order: 'A-8' }, { labels });
  await expect(started.result()).rejects.toThrow('the card was refused');
  await runtime.settle();
  const error = { code: 'no_money', message: 'the card was refused' };
  const task = { id: 'pay', ...error };
  expect(seen).toMatchObject([
    { job: { id: submitted.id, name: 'mine', state: 'failed' }, input: { order: 'A-7' }, task },
    { job: { id: started.id, name: 'order', labels }, input: { order: 'A-8' }, task },
  ]);
  expect(seen[0]?.error?.message).toContain('the card was refused');
  const by = { event: 'millrace.job.failed', id: submitted.id };
  const [id = '', ...more] = await runtime.jobs({ startedBy: by });
  expect([more, await runtime.result(id)]).toEqual([[], 'A-7']);
  expect(await runtime.job(id)).toMatchObject({ name: 'order.failed', startedBy: by });
});

test('a rerun that fails is another failure, and a success is none', async () => {
  const { seen, order } = world();
  await using runtime = await createTestRuntime({ flows: [order] });
  const job = await runtime.submit(order, { order: 'A-7' });
  await job.result().catch(() => {});
  await runtime.rerun(job);
  await job.result().catch(() => {});
  await runtime.settle();
  expect(seen.map((each) => each.job.id)).toEqual([job.id, job.id]);
  const cancelled = await runtime.submit(order, { order: 'B' }, { delay: '1h' });
  await runtime.cancel(cancelled);
  await runtime.settle();
  expect(seen).toHaveLength(2);
});

test('a hook has retries of its own, and its own failure starts nothing', async () => {
  let calls = 0;
  const alert = defineTask({
    name: 'alert',
    input: z.object({ job: z.object({ id: z.string() }) }),
    retry: { maxAttempts: 3, backoffMs: 10 },
    whenFailed: () => expect.fail('a hook of a hook'),
    run: ({ job }) => {
      calls += 1;
      throw new Error(`cannot tell of ${job.id}`);
    },
  });
  const a = defineTask({ name: 'a', whenFailed: alert, run: refuse });
  const b = defineTask({ name: 'b', whenFailed: alert, run: refuse });
  await using runtime = await createTestRuntime({ tasks: [a, b] });
  for (const job of [await runtime.submit(a, null), await runtime.start('b')])
    await job.result().catch(() => {});
  await runtime.settle();
  const alerts = await runtime.jobs({ name: 'alert' });
  expect([alerts.length, calls]).toEqual([2, 6]);
  expect(await runtime.jobs({ name: 'alert.failed' })).toEqual([]);
});

test('a job that was called, and one that an event has started, run their hooks, too', async () => {
  const seen: string[] = [];
  const inner = defineTask({
    name: 'inner',
    on: ['tick'],
    whenFailed: ({ job, input }) => void seen.push(`${job.name} ${JSON.stringify(input)}`),
    run: (_input: { readonly n: number }) => refuse(),
  });
  const outer = defineTask({
    name: 'outer',
    run: (_: null, ctx) => ctx.call('it', inner, { n: 1 }).catch(() => 'went on'),
  });
  await using runtime = await createTestRuntime({ tasks: [inner, outer] });
  expect(await runtime.result(await runtime.submit(outer, null))).toBe('went on');
  await runtime.send('tick', { n: 2 });
  await runtime.settle();
  expect(seen).toEqual(['inner {"n":1}', 'inner {"n":2}']);
});

test('a job whose time is over has failed, and an input that is too large is left out', async () => {
  const seen: Failure[] = [];
  const slow = defineFlow({
    name: 'slow',
    input: z.object({ text: z.string() }),
    timeouts: { totalMs: 60_000 },
    whenFailed: (failure) => void seen.push(failure as Failure),
    build: ({ task }) =>
      task('wait', defineTask({ name: 'wait', run: (_: null, ctx) => ctx.sleep('s', '1d') }), null),
  });
  await using runtime = await createTestRuntime({ flows: [slow] });
  for (const text of ['small', 'x'.repeat(40_000)])
    await (await runtime.submit(slow, { text })).result().catch(() => {});
  await runtime.settle();
  expect(seen.map(({ input }) => input)).toEqual([{ text: 'small' }, null]);
  expect(seen[0]?.error?.code).toMatch(/timeout|deadline|total/);
});

test('what looks like a reference in the input is data', async () => {
  const seen: unknown[] = [];
  const odd = defineTask({
    name: 'odd',
    whenFailed: ({ input }) => void seen.push(input),
    run: (_input: unknown) => refuse(),
  });
  await using runtime = await createTestRuntime({ tasks: [odd] });
  const input = { $from: 'x', startedBy: { event: 'tick', id: '1' }, at: { $input: '' } };
  await (await runtime.submit(odd, input)).result().catch(() => {});
  await (await runtime.start('odd', input)).result().catch(() => {});
  await runtime.settle();
  expect(seen).toEqual([input, input]);
  expect(await runtime.jobs({ startedBy: 'event/tick' })).toEqual([]);
});

test.each([
  ['neither a function nor a task', { name: 'x' }, /must be a function or a task/],
  [
    'a flow',
    defineFlow({ name: 'f', build: ({ task }) => task('a', charge, { order: 'x' }) }),
    /task/,
  ],
])('%s is refused when the flow is defined', (_what, whenFailed, why) => {
  const define = (): unknown =>
    defineTask({ name: 't', whenFailed: whenFailed as never, run: () => 1 });
  expect(define).toThrow(why);
});
