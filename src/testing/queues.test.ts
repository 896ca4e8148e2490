import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineTask } from '../client/millrace.ts';
import { StandstillError, createTestRuntime } from './index.ts';

const charge = defineTask({
  name: 'charge',
  input: z.string(),
  concurrency: { key: 'bank', limit: 2 },
  run: (customer) => `${customer} has paid`,
});

test('a paused task does not start while time passes, and does once it is resumed', async () => {
  const runtime = await createTestRuntime({ tasks: [charge] });
  const paused = await runtime.queues.pause({ executor: 'charge' }, { reason: 'the bank is down' });
  expect(paused).toMatchObject({ executor: 'charge', changed: true });
  const job = await runtime.submit(charge, 'Ada');
  await runtime.advance('1d');
  expect(runtime.ran('charge')).toEqual([]);
  expect(await runtime.explain(job, 'charge')).toMatchObject({
    state: 'ready',
    why: expect.stringContaining('the bank is down') as string,
  });
  await expect(job.result()).rejects.toThrow(StandstillError);
  expect(await runtime.queues.list()).toContainEqual(
    expect.objectContaining({ executor: 'charge', ready: 1, running: 0 }),
  );
  await runtime.queues.resume({ executor: 'charge' });
  await expect(job.result()).resolves.toBe('Ada has paid');
  expect(await runtime.explain(job, 'charge')).toBeNull();
});

test('a key is paused for all tasks that have it', async () => {
  const runtime = await createTestRuntime({ tasks: [charge] });
  await runtime.queues.pause({ key: 'bank' });
  const job = await runtime.submit(charge, 'Bob');
  await runtime.settle();
  expect((await job.job()).state).toBe('queued');
  await expect(runtime.queues.resume({ key: 'bank' })).resolves.toMatchObject({ changed: true });
  await expect(runtime.queues.resume({ key: 'bank' })).resolves.toMatchObject({ changed: false });
  await expect(job.result()).resolves.toBe('Bob has paid');
});

test('a task sleeps until a date, and waits for a signal until a date', async () => {
  const launch = defineTask({
    name: 'launch',
    run: async (_input, ctx) => {
      await ctx.sleep('new year', new Date('2031-01-01T00:00:00Z'));
      await ctx.sleep('passed', new Date('2030-06-01T00:00:00Z'));
      const timeout = new Date('2031-02-01T00:00:00Z');
      return (await ctx.waitFor<string>('go', { timeout })) ?? 'nobody said go';
    },
  });
  const runtime = await createTestRuntime();
  const job = await runtime.submit(launch);
  await runtime.advance('364d');
  expect((await job.job()).state).toBe('running');
  expect(runtime.ran('launch')).toHaveLength(1);
  await expect(job.result()).resolves.toBe('nobody said go');
  expect(runtime.now().toISOString().slice(0, 16)).toBe('2031-02-01T00:00');
});

test('a date that is not valid fails the task for good', async () => {
  const lost = defineTask({
    name: 'lost',
    run: (_input, ctx) => ctx.sleep('never', new Date('no date')),
  });
  const runtime = await createTestRuntime();
  const job = await runtime.submit(lost);
  await expect(job.result()).rejects.toThrow(/The sleep never cannot last Invalid Date.*or a Date/);
});
