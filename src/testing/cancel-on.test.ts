/** Jobs that events cancel, in the test kit. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineFlow, defineTask } from '../client/millrace.ts';
import { createTestRuntime } from './index.ts';

const wait = defineTask({
  name: 'wait',
  input: z.object({ id: z.string() }),
  run: async (_, ctx) => ctx.sleep('long', '3d'),
});
const order = defineFlow({
  name: 'order',
  input: z.object({ id: z.string(), customer: z.object({ no: z.number() }).optional() }),
  on: ['order.created', 'order.changed'],
  cancelOn: [
    { event: 'order.cancelled', match: 'id' },
    { event: 'order.changed', match: ['id'] },
    { event: 'customer.removed', match: { no: 'customer.no' } },
  ],
  build: ({ input, task }) => task('w', wait, { id: input.id }),
});

test('an event cancels the jobs whose input has its value', async () => {
  await using runtime = await createTestRuntime({ flows: [order] });
  const a = await runtime.submit(order, { id: 'A' });
  const b = await runtime.submit(order, { id: 'B', customer: { no: 7 } });
  // By its name, as a client without the code of the flow.
  const c = await runtime.start('order', { id: 'A', customer: { no: 8 } });
  await runtime.advance('1s');
  const sent = await runtime.send('order.cancelled', { id: 'A' }, { id: 'x-1' });
  expect([sent.cancelled, sent.woken]).toEqual([[a.id, c.id], []]);
  await runtime.advance('1s');
  const { state, error } = await runtime.job(a);
  expect(state).toBe('cancelled');
  expect(error).toEqual({
    code: 'cancelled',
    message: 'the event order.cancelled (x-1) has cancelled it',
  });
  expect((await runtime.job(c)).state).toBe('cancelled');
  expect((await runtime.job(b)).state).toBe('running');
  // A number is not its text.
  expect((await runtime.send('customer.removed', { no: '7' })).cancelled).toEqual([]);
  expect((await runtime.send('customer.removed', { no: 7 })).cancelled).toEqual([b.id]);
});

test('an event that starts a job and cancels others spares its own, also when it is repeated', async () => {
  await using runtime = await createTestRuntime({ flows: [order] });
  const [first] = await runtime.send('order.created', { id: 'A' });
  await runtime.advance('1s');
  const changed = await runtime.send('order.changed', { id: 'A' }, { id: 'c-1' });
  expect(changed.cancelled).toEqual([first?.id]);
  expect(changed).toHaveLength(1);
  await runtime.advance('1s');
  const again = await runtime.send('order.changed', { id: 'A' }, { id: 'c-1' });
  expect([again.cancelled, again.map(({ id }) => id)]).toEqual([[], [changed[0]?.id]]);
  const next = await runtime.send('order.changed', { id: 'A' }, { id: 'c-2' });
  expect(next.cancelled).toEqual([changed[0]?.id]);
});

test('what the schema fills by default counts alike, submitted or started by name', async () => {
  const input = z.object({
    id: z.string(),
    region: z.string().default('eu'),
    at: z.object({ depot: z.string().default('north') }).default({ depot: 'north' }),
  });
  const about = {
    ...{ input, cancelOn: [{ event: 'stop', match: ['region', 'at.depot'] }] },
    ...{ search: ({ region }: { region: unknown }) => ({ region }), singleton: {} },
  };
  const singleton = { key: ({ region }: { region: unknown }) => region };
  const flow = defineFlow({
    ...{ ...about, singleton, name: 'parcels' },
    build: ({ input: { id }, task }) => task('w', wait, { id }),
  });
  const task = defineTask({
    ...{ ...about, singleton, name: 'parcel' },
    run: async (_, ctx) => ctx.sleep('long', '3d'),
  });
  await using runtime = await createTestRuntime({ flows: [flow], tasks: [task] });
  const stop = { region: 'eu', at: { depot: 'north' } };
  const starts: readonly (() => Promise<{ readonly id: string }>)[] = [
    () => runtime.submit(flow, { id: 'A' }),
    () => runtime.start('parcels', { id: 'A', at: {} }),
    () => runtime.submit(task, { id: 'A' }),
    () => runtime.start('parcel', { id: 'A' }),
  ];
  for (const start of starts) {
    const { id } = await start();
    await runtime.advance('1s');
    expect((await runtime.job(id)).labels).toEqual({ region: 'eu' });
    expect((await start()).id).toBe(id);
    expect((await runtime.send('stop', { ...stop, region: 'us' })).cancelled).toEqual([]);
    expect((await runtime.send('stop', stop)).cancelled).toEqual([id]);
    await runtime.advance('1s');
  }
});

test('a default that nobody knows when the job is started by name fails it, with the reason', async () => {
  const given = z.object({ id: z.string().optional() });
  const flow = defineFlow({
    name: 'hidden',
    input: given.transform(({ id = 'made' }) => ({ id })),
    cancelOn: [{ event: 'stop', match: 'id' }],
    build: ({ input: { id }, task }) => task('w', wait, { id }),
  });
  await using runtime = await createTestRuntime({ flows: [flow] });
  const known = await runtime.start('hidden', { id: 'A' });
  const job = await runtime.start('hidden', {});
  await runtime.advance('1s');
  expect((await runtime.job(known)).state).toBe('running');
  const { state, tasks } = await runtime.job(job);
  const error = tasks[0]?.error;
  expect([state, error?.code]).toEqual(['failed', 'bad_input']);
  expect(error?.message).toMatch(/\/id.*fills this field.*Give the field/s);
});

test('a task by itself is cancelled as a flow is', async () => {
  const poll = defineTask({
    name: 'poll',
    input: z.object({ id: z.string() }),
    cancelOn: [{ event: 'stop', match: 'id' }],
    run: async (_, ctx) => ctx.sleep('long', '3d'),
  });
  await using runtime = await createTestRuntime({ flows: [order] });
  const job = await runtime.submit(poll, { id: 'P' });
  await runtime.advance('1s');
  expect((await runtime.send('stop', { id: 'Q' })).cancelled).toEqual([]);
  expect((await runtime.send('stop', { id: 'P' })).cancelled).toEqual([job.id]);
});

test('what is wrong with cancelOn is said when it is defined', () => {
  const define = (cancelOn: unknown) => (): unknown =>
    defineTask({ name: 't', cancelOn: cancelOn as never, run: () => 1 });
  expect(define('x')).toThrow(/list of up to 8/);
  expect(define([{ event: 'a' }])).toThrow(/not a field of an event/);
  expect(define([{ event: 'a', match: [] }])).toThrow(/1 to 8 fields/);
  expect(define([{ event: 'a', match: { b: 5 } }])).toThrow(/not a field/);
  expect(define([{ event: 'millrace.job.failed', match: 'b' }])).toThrow(/reserved/);
  expect(define([{ event: 'a', match: 'b', if: 'c' }])).toThrow(/if/);
  const batch = { max: 5, ms: 100 };
  const cancelOn = [{ event: 'a', match: 'id' }];
  const both = (): unknown => defineTask({ name: 't', batch, cancelOn, run: () => [] });
  expect(both).toThrow(/'cancelOn' and 'batch'/);
});
