/** Events that wake tasks and cancel jobs, in the test kit. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineTask } from '../client/millrace.ts';
import { createTestRuntime } from './index.ts';

const payment = defineTask({
  name: 'payment',
  input: z.object({ id: z.string(), timeout: z.string().optional() }),
  run: async ({ id, timeout }, ctx) => {
    const paid = await ctx.waitForEvent<{ cents: number }>('paid', 'order.paid', {
      match: { 'order.id': id },
      ...(timeout === undefined ? {} : { timeout }),
    });
    return paid ?? 'too late';
  },
});

test('an event wakes the tasks that wait for one with its values', async () => {
  await using runtime = await createTestRuntime();
  const [seven, eight] = [
    await runtime.submit(payment, { id: 'A-7' }),
    await runtime.submit(payment, { id: 'A-8' }),
  ];
  expect((await runtime.send('order.paid', { order: { id: 'A-7' } })).woken).toEqual([]);
  await runtime.settle();
  expect(await runtime.jobs({ waitingFor: 'event/order.paid' })).toEqual([eight.id, seven.id]);
  const why = (await runtime.explain(seven, 'payment'))?.why;
  expect(why).toBe('waits for event order.paid');
  const sent = await runtime.send('order.paid', { order: { id: 'A-7' }, cents: 5 }, { id: 'e-1' });
  expect([...sent]).toEqual([]);
  expect(sent.woken).toEqual([{ job: seven.id, task: 'payment' }]);
  expect(await runtime.result(seven)).toEqual({ order: { id: 'A-7' }, cents: 5 });
  expect((await runtime.send('order.paid', { order: { id: 'A-7' } }, { id: 'e-1' })).woken).toEqual(
    [],
  );
  expect((await runtime.job(eight)).state).toBe('running');
});

test('a wait for an event ends with its time', async () => {
  await using runtime = await createTestRuntime();
  const job = await runtime.submit(payment, { id: 'A-7', timeout: '3d' });
  await runtime.advance('2d');
  expect(await runtime.jobs({ waitingFor: '*' })).toEqual([job.id]);
  expect(await runtime.result(job)).toBe('too late');
  expect((await runtime.send('order.paid', { order: { id: 'A-7' } })).woken).toEqual([]);
});

const both = defineTask({
  name: 'both',
  run: async (_: null, ctx) => {
    const [a, b] = await Promise.all([
      ctx.waitForEvent<number>('a', 'a.done'),
      ctx.waitForEvent<number>('b', 'b.done', { timeout: '1h' }),
    ]);
    return [a, b ?? null];
  },
});

test('an event that comes while the task runs again is not lost', async () => {
  await using runtime = await createTestRuntime();
  const job = await runtime.submit(both, null);
  await runtime.advance('1s');
  // Nothing runs between the two.
  expect((await runtime.send('b.done', 2)).woken).toHaveLength(1);
  expect((await runtime.send('a.done', 1)).woken).toHaveLength(1);
  expect((await runtime.send('a.done', 3)).woken).toHaveLength(0);
  expect(await runtime.result(job)).toEqual([1, 2]);
});

test('one event is taken by all waits of a task that it means, and once by each', async () => {
  const loop = defineTask({
    name: 'loop',
    run: async (_: null, ctx) => {
      const first = await Promise.all([
        ctx.waitForEvent<number>('a', 'tick'),
        ctx.waitForEvent<number>('b', 'tick'),
      ]);
      return [...first, await ctx.waitForEvent<number>('c', 'tick')];
    },
  });
  await using runtime = await createTestRuntime();
  const job = await runtime.submit(loop, null);
  await runtime.settle();
  await runtime.send('tick', 1, { id: 't1' });
  await runtime.settle();
  // The same event again, after the task has gone on to another wait.
  expect((await runtime.send('tick', 1, { id: 't1' })).woken).toEqual([]);
  await runtime.settle();
  expect((await runtime.job(job)).state).toBe('running');
  await runtime.send('tick', 2, { id: 't2' });
  expect(await runtime.result(job)).toEqual([1, 1, 2]);
});

test('an event that does not fit the schema of a wait does not end it', async () => {
  const strict = defineTask({
    name: 'strict',
    run: async (_: null, ctx) =>
      ctx.waitForEvent('n', 'n', { schema: z.object({ n: z.number().int().min(5) }) }),
  });
  await using runtime = await createTestRuntime();
  const job = await runtime.submit(strict, null);
  await runtime.settle();
  // What the leader can see does not even wake it.
  expect((await runtime.send('n', { n: 'five' })).woken).toEqual([]);
  expect((await runtime.send('n', { n: 4 })).woken).toHaveLength(1);
  await runtime.settle();
  expect((await runtime.send('n', { n: 5 })).woken).toHaveLength(1);
  expect(await runtime.result(job)).toEqual({ n: 5 });
});

test('bad conditions and reserved events fail the task with the reason', async () => {
  const wrong = defineTask({
    name: 'wrong',
    input: z.object({ event: z.string(), match: z.custom<Record<string, string>>() }),
    retry: { maxAttempts: 1 },
    run: async ({ event, match }, ctx) => ctx.waitForEvent('w', event, { match }),
  });
  await using runtime = await createTestRuntime();
  const failure = async (event: string, match: unknown): Promise<string> => {
    const job = await runtime.submit(wrong, { event, match: match as Record<string, string> });
    return runtime.result(job).then(
      () => 'none',
      (error: Error) => error.message,
    );
  };
  expect(await failure('a', { b: { c: 1 } })).toMatch(/a number, true, false or null/);
  const forgetful = defineTask({
    name: 'forgetful',
    retry: { maxAttempts: 1 },
    // What it compares with is not there: it must not wait for any event at all.
    run: (_: unknown, ctx) => ctx.waitForEvent('w', 'a', { match: { id: undefined as never } }),
  });
  const job = await runtime.submit(forgetful, null);
  await expect(runtime.result(job)).rejects.toThrow(/a number, true, false or null/);
  expect(await failure('a', 'b')).toMatch(/object of fields/);
  expect(await failure('a', { 'b..c': 1 })).toMatch(/not a field of an event/);
  expect(await failure('millrace.job.failed', {})).toMatch(/is reserved/);
  expect(await failure('not an event', {})).toMatch(/not an event/);
  await expect(runtime.send('millrace.job.failed', {})).rejects.toThrow(/is reserved/);
});
