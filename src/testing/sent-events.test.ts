/** Events that handlers send, in the test kit. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineFlow, defineTask } from '../client/millrace.ts';
import { createTestRuntime } from './index.ts';

const note = defineTask({
  name: 'note',
  input: z.object({ text: z.string() }),
  run: ({ text }) => text,
});
const thank = defineFlow({
  name: 'thank',
  input: z.object({ id: z.string() }),
  on: ['order.paid'],
  build: ({ input, task }) => task('n', note, { text: input.id }),
});
const strict = defineFlow({
  name: 'strict',
  input: z.object({ id: z.string(), cents: z.number() }),
  on: ['order.paid'],
  build: ({ input, task }) => task('n', note, { text: input.id }),
});
const waiter = defineTask({
  name: 'waiter',
  input: z.object({ id: z.string() }),
  cancelOn: [{ event: 'order.lost', match: 'id' }],
  run: ({ id }, ctx) => ctx.waitForEvent<{ id: string }>('paid', 'order.paid', { match: { id } }),
});
const sender = defineTask({
  name: 'sender',
  input: z.object({ id: z.string(), event: z.string() }),
  run: async ({ id, event }, ctx) => {
    const sent = await ctx.send('tell', event, { id }, { labels: { from: 'sender' } });
    if (ctx.attempt === 1) throw new Error('after it was sent');
    return sent;
  },
});

test('a handler sends an event once, however often it is attempted', async () => {
  await using runtime = await createTestRuntime({ flows: [thank, strict] });
  const waiting = await runtime.submit(waiter, { id: 'A' });
  await runtime.advance('1s');
  const job = await runtime.submit(sender, { id: 'A', event: 'order.paid' });
  const id = await runtime.result(job);
  expect(await runtime.result(waiting)).toEqual({ id: 'A' });
  const started = await runtime.jobs({ name: 'thank' });
  expect(started).toHaveLength(1);
  const thanked = await runtime.job(started[0] ?? '');
  expect(thanked).toMatchObject({ startedBy: { event: 'order.paid', id } });
  expect(thanked.labels).toEqual({ from: 'sender' });
  // It does not accept the data; the others are not affected.
  expect(await runtime.jobs({ name: 'strict' })).toEqual([]);
});

test('a handler cancels other jobs by an event', async () => {
  await using runtime = await createTestRuntime();
  const waiting = await runtime.submit(waiter, { id: 'A' });
  await runtime.advance('1s');
  await runtime.result(await runtime.submit(sender, { id: 'A', event: 'order.lost' }));
  expect((await runtime.job(waiting)).state).toBe('cancelled');
});

test('an event that cannot be sent fails the handler with the reason', async () => {
  await using runtime = await createTestRuntime();
  const job = await runtime.submit(sender, { id: 'A', event: 'millrace.job.failed' });
  await expect(runtime.result(job)).rejects.toThrow(/is reserved/);
});
