import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { connect, createRuntime, defineFlow, defineTask, externalFlow } from '../millrace.ts';
import type { Client, Runtime } from '../millrace.ts';

const pay = defineTask({
  name: 'pay',
  input: z.object({ order: z.string(), cents: z.number() }),
  run: ({ order, cents }) => `${order}: ${cents}`,
});
const order = defineFlow({
  name: 'order',
  input: z.object({ id: z.string().trim(), cents: z.number().default(5) }),
  build: ({ input, task }) => task('pay', pay, { order: input.id, cents: input.cents }),
});
const named = externalFlow<{ readonly id: string }, string>('order');

let runtime: Runtime;
let client: Client;
beforeAll(async () => {
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  runtime = await createRuntime({ store: 'memory', flows: [order], log });
  client = connect(runtime.url, runtime.token === null ? {} : { token: runtime.token });
});
afterAll(async () => {
  await client.close();
  await runtime.close();
});

test('a client without its code starts a flow by its name, once per key', async () => {
  expect(await client.flows()).toMatchObject([
    { name: 'order', input: { type: 'object', required: ['id'] }, nodes: [expect.any(String)] },
  ]);
  const job = await client.start('order', { id: ' A-7 ' }, { idempotencyKey: 'a', priority: 1 });
  expect(await job.result()).toBe('A-7: 5');
  expect(await job.job()).toMatchObject({ name: 'order', priority: 1 });
  const again = await client.start('order', { id: 'other' }, { idempotencyKey: 'a' });
  expect(again).toMatchObject({ id: job.id, isNew: false });
  expect(await (await client.submit(named, { id: 'A-8' })).result()).toBe('A-8: 5');
});

test.each([
  ['an input that does not fit', 'order', { cents: 1 }, 'bad_input', '/input/id'],
  ['a flow that nobody has published', 'ordre', {}, 'not_found', undefined],
])('refuses %s', async (_, flow, input, code, path) => {
  const before = (await client.jobs().next()).value;
  await expect(client.start(flow, input)).rejects.toMatchObject({ code, path });
  expect((await client.jobs().next()).value).toEqual(before);
});

test('a schedule names a flow and an input', async () => {
  const put = (input: unknown): Promise<unknown> =>
    client.schedules.put('nightly', { cron: '0 2 * * *', flow: 'order', input });
  await expect(put({})).rejects.toMatchObject({ code: 'bad_input', path: '/input/id' });
  expect(await put({ id: 'A-9' })).toMatchObject({
    spec: { flow: 'order', input: { id: 'A-9' }, document: { name: 'order' } },
  });
  const { lastJob } = await client.schedules.trigger('nightly');
  expect(await client.result(lastJob ?? '')).toBe('A-9: 5');
  const typed = { everyMs: 3_600_000, flow: named, input: { id: 'A-10' } } as const;
  expect(await client.schedules.put('typed', typed)).toMatchObject({ spec: { flow: 'order' } });
  await client.schedules.delete('typed');
});

test('schedules that a flow and a task declare are there, and start them', async () => {
  const tick = defineTask({
    name: 'tick',
    schedule: { everyMs: 100, input: null },
    run: (_input: null, { scheduledAt }) => scheduledAt?.toISOString() ?? null,
  });
  const daily = defineFlow({
    name: 'daily',
    input: z.object({ id: z.string() }),
    schedule: { id: 'every-night', cron: '0 2 * * *', input: { id: 'A-1' } },
    build: ({ input, task }) => task('pay', pay, { order: input.id, cents: 1 }),
  });
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  const own = await createRuntime({ store: 'memory', flows: [daily], tasks: [tick, pay], log });
  try {
    expect(await own.schedules.list()).toMatchObject([
      { id: 'every-night', state: 'active', spec: { flow: 'daily', declared: true } },
      { id: 'tick', state: 'active' },
    ]);
    expect(await own.flows()).toMatchObject([
      { name: 'daily', schedules: [{ id: 'every-night' }] },
      { name: 'pay', schedules: [] },
      { name: 'tick', schedules: [{ id: 'tick' }] },
    ]);
    const { lastJob } = await own.schedules.trigger('every-night');
    expect(await own.result(lastJob ?? '')).toBe('A-1: 1');
    const fired = async () => (await own.schedules.list()).find(({ id }) => id === 'tick')?.lastJob;
    await expect.poll(fired, { timeout: 10_000 }).toEqual(expect.any(String));
    expect(await own.result((await fired()) ?? '')).toMatch(/^20\d\d-/);
  } finally {
    await own.close();
  }
});
