/** What a task says of its jobs, however they are started. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineFlow, defineTask } from '../client/millrace.ts';
import { createTestRuntime } from './index.ts';

const notify = defineTask({
  name: 'notify',
  on: ['paid'],
  input: z.array(z.object({ user: z.string(), text: z.string() })),
  batch: { key: (notices) => notices[0]?.user, max: 3, ms: 60_000 },
  run: (notices) => notices.map(({ text }) => text),
});

test('events with one key are given to one run of a task with a batch', async () => {
  const runtime = await createTestRuntime({ tasks: [notify] });
  const sent = [
    ...(await runtime.send('paid', { user: 'ann', text: 'one' })),
    ...(await runtime.send('paid', { user: 'bob', text: 'other' })),
    ...(await runtime.send('paid', [{ user: 'ann', text: 'two' }])),
    ...(await runtime.send('paid', { user: 'ann', text: 'three' })),
  ];
  const results = await Promise.all(sent.map(({ id }) => runtime.result(id ?? expect.fail())));
  expect(results).toEqual([
    ['one', 'two', 'three'],
    ['other'],
    ['one', 'two', 'three'],
    ['one', 'two', 'three'],
  ]);
  expect(runtime.ran('notify')).toHaveLength(2);
});

test('data that does not fit the list of a batch is refused for that task', async () => {
  const runtime = await createTestRuntime({ tasks: [notify] });
  const [refused] = await runtime.send('paid', { user: 'ann' });
  expect(refused?.error).toMatchObject({ code: 'bad_input', path: '/input/0/text' });
});

test('a task that is a singleton is one however it is started', async () => {
  const sync = defineTask({
    name: 'sync',
    on: ['changed'],
    input: z.object({ tenant: z.string() }),
    singleton: { key: (input) => input.tenant },
    search: (input) => ({ tenant: input.tenant }),
    run: (_input, ctx) => ctx.sleep('a while', '1h'),
  });
  const runtime = await createTestRuntime({ tasks: [sync] });
  const first = await runtime.submit(sync, { tenant: 't' });
  const second = await runtime.start('sync', { tenant: 't' });
  const [third] = await runtime.send('changed', { tenant: 't' });
  const other = await runtime.start('sync', { tenant: 'u' });
  const same = { id: first.id, isNew: false };
  expect([second, third]).toMatchObject([same, same]);
  expect(other.isNew).toBe(true);
  expect((await runtime.job(other)).labels).toEqual({ tenant: 'u' });
});

test('a task with a batch is called, submitted and used in flows', async () => {
  const notify = defineTask({
    name: 'notify',
    input: z.array(z.string()),
    batch: { max: 2, ms: 60_000 },
    run: (list) => list.join('+'),
  });
  const parent = defineTask({
    name: 'parent',
    input: z.string(),
    run: (text, ctx) => ctx.call('n', notify, [text]),
  });
  const mapped = defineTask({
    name: 'mapped',
    run: (_input: null, ctx) => ctx.map('m', notify, [['x'], ['y']]),
  });
  const flow = defineFlow({ name: 'flow', build: ({ task }) => task('n', notify, ['f']) });
  const runtime = await createTestRuntime({ tasks: [notify, parent, mapped], flows: [flow] });
  const jobs = [await runtime.submit(parent, 'a'), await runtime.submit(parent, 'b')];
  expect(await Promise.all(jobs.map((job) => job.result()))).toEqual(['a+b', 'a+b']);
  expect(await (await runtime.submit(mapped, null)).result()).toEqual(['x', 'y']);
  expect(await (await runtime.submit(flow)).result()).toBe('f');
  expect(await (await runtime.start('flow')).result()).toBe('f');
});

test('a schedule of a singleton is backfilled one at a time', async () => {
  const report = defineTask({
    name: 'report',
    singleton: {},
    schedule: { cron: '0 2 * * *' },
    run: (_input, ctx) => ctx.sleep('x', '1h'),
  });
  const runtime = await createTestRuntime({ tasks: [report] });
  const range = { from: '2029-12-28T00:00:00Z', to: '2029-12-31T00:00:00Z' };
  const made = await runtime.schedules.backfill('report', range);
  expect(made.started).toBe(1);
  expect(new Set(made.jobs.map(({ id }) => id)).size).toBe(1);
  await runtime.result(made.jobs[0]?.id ?? '');
  expect((await runtime.schedules.backfill('report', range)).started).toBe(1);
});
