import { expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { defineFlow, defineTask } from '../tasks/flow/index.ts';
import { StandstillError, createTestRuntime, fake } from './index.ts';

const charge = defineTask({
  name: 'charge',
  input: z.object({ cents: z.number() }),
  output: z.object({ receipt: z.string() }),
  run: (): { receipt: string } => {
    throw new Error('no money is moved in a test');
  },
});
const order = defineFlow({
  name: 'order',
  input: z.object({ cents: z.number() }),
  build: ({ input, task }) => task('charge', charge, { cents: input.cents }).receipt,
});
const bill = fake(charge, ({ cents }) => {
  expectTypeOf(cents).toBeNumber();
  return { receipt: `r-${cents}` };
});

test('a fake has the types of its task, and its schemas stay in force', async () => {
  await using runtime = await createTestRuntime({ flows: [order], fakes: [bill] });
  expect(await (await runtime.submit(order, { cents: 5 })).result()).toBe('r-5');
  // @ts-expect-error: the result lacks the receipt
  const wrong = fake(charge, () => ({}));
  await using other = await createTestRuntime({ fakes: [wrong] });
  const job = await other.submit(order, { cents: 5 });
  await expect(job.result()).rejects.toThrow('receipt');
  const bad = await other.submit({
    tasks: [{ id: 'a', executor: 'charge', input: { cents: 'x' } }],
  });
  await expect(bad.result()).rejects.toThrow('/cents');
});

test('a fake of a task without a result returns nothing', async () => {
  const mail = defineTask({
    name: 'mail',
    input: z.string(),
    run: (): void => {
      throw new Error('nothing is sent in a test');
    },
  });
  const sent: string[] = [];
  const fakes = [fake(mail, (to) => void sent.push(to))];
  await using runtime = await createTestRuntime({ fakes });
  expect(await (await runtime.submit(mail, 'Ada')).result()).toBeNull();
  expect(sent).toEqual(['Ada']);
});

test('a schedule fires as time advances, by flow, by name and by hand', async () => {
  const startAt = '2030-01-01T00:00:00Z';
  await using runtime = await createTestRuntime({ flows: [order], fakes: [bill], startAt });
  const input = { cents: 7 };
  await runtime.schedules.put('nightly', { cron: '0 2 * * *', flow: order, input });
  await runtime.schedules.put('named', { cron: '0 3 * * *', flow: 'order', input });
  await expect(runtime.settle()).rejects.toThrow('use advance');
  await runtime.advance('2d');
  const jobs = await runtime.jobs('order');
  expect(jobs).toHaveLength(4);
  expect(runtime.ran('charge')).toHaveLength(4);
  await runtime.schedules.pause('nightly');
  await runtime.schedules.delete('named');
  await runtime.advance('7d');
  expect(await runtime.jobs('order')).toHaveLength(4);
  const { lastJob } = await runtime.schedules.trigger('nightly');
  expect(await runtime.result(lastJob ?? '')).toBe('r-7');
  await runtime.settle();
});

test('a job that waits for a signal stands still, however often schedules fire', async () => {
  const wait = defineTask({ name: 'wait', run: (_, ctx) => ctx.waitFor('go') });
  await using runtime = await createTestRuntime({ flows: [order], fakes: [bill] });
  await runtime.schedules.put('often', { everyMs: 60_000, flow: order, input: { cents: 1 } });
  const job = await runtime.submit(wait);
  await expect(job.result()).rejects.toThrow(StandstillError);
});

test('reruns what failed, redrives one task and forks a job', async () => {
  let isUp = false;
  const first = defineTask({ name: 'first', run: () => 1 });
  const second = defineTask({
    name: 'second',
    input: z.number(),
    retry: { maxAttempts: 1 },
    run: (value) => {
      if (!isUp) throw new Error('down');
      return value + 1;
    },
  });
  const flow = defineFlow({
    name: 'flow',
    build: ({ task }) => task('second', second, task('first', first)),
  });
  await using runtime = await createTestRuntime();
  const job = await runtime.submit(flow);
  await expect(job.result()).rejects.toThrow('down');
  await runtime.rerun(job);
  await expect(job.result()).rejects.toThrow('down');
  isUp = true;
  await runtime.redrive(job, 'second');
  expect(await job.result()).toBe(2);
  const fork = await runtime.fork(job, 'second');
  expectTypeOf(await fork.result()).toBeNumber();
  expect(await fork.result()).toBe(2);
  expect(runtime.ran('first')).toHaveLength(1);
  expect(runtime.ran('second', job)).toHaveLength(3);
});

test('a schedule with an end can be waited for', async () => {
  const tick = defineTask({ name: 'tick', input: z.null(), run: () => null });
  const runtime = await createTestRuntime({ tasks: [tick] });
  const made = await runtime.schedules.put('trial', {
    flow: tick,
    input: null,
    everyMs: 86_400_000,
    maxRuns: 3,
  });
  expect(made.state).toBe('active');
  await runtime.settle();
  expect(runtime.ran('tick')).toHaveLength(3);
  const [ended] = await runtime.schedules.list();
  expect(ended).toMatchObject({ state: 'ended', nextAt: null, upcoming: [], spec: { runs: 3 } });
});

test('a declared schedule waits to be resumed, so that time can pass for others', async () => {
  const seen: unknown[] = [];
  const report = defineTask({
    name: 'report',
    input: z.object({ shop: z.string() }),
    schedule: { cron: '0 2 * * *', input: { shop: 'north' } },
    run: ({ shop }, { scheduledAt }) => void seen.push([shop, scheduledAt?.toISOString()]),
  });
  await using runtime = await createTestRuntime({ tasks: [report] });
  expect(await runtime.schedules.list()).toMatchObject([{ id: 'report', state: 'paused' }]);
  await runtime.settle();
  await runtime.advance('3d');
  expect(seen).toEqual([]);
  await runtime.schedules.resume('report');
  await runtime.advance('1d');
  expect(seen).toEqual([['north', '2030-01-04T02:00:00.000Z']]);
});

test('a schedule is run for times that have passed, once each', async () => {
  const seen: string[] = [];
  const report = defineTask({
    name: 'report',
    schedule: { cron: '0 2 * * *', maxRuns: 1 },
    run: (_input, { scheduledAt }) => void seen.push(scheduledAt?.toISOString() ?? ''),
  });
  await using runtime = await createTestRuntime({ tasks: [report] });
  const before = await runtime.schedules.list();
  const range = { from: '2029-12-29T00:00:00Z', to: new Date('2029-12-31T02:00:00Z') };
  const first = await runtime.schedules.backfill('report', range);
  expect(first).toMatchObject({ id: 'report', started: 3 });
  await Promise.all(first.jobs.map(({ id }) => runtime.result(id)));
  const days = ['29', '30', '31'].map((day) => `2029-12-${day}T02:00:00.000Z`);
  expect(seen.toSorted()).toEqual(days);
  expect(first.jobs.map(({ at }) => at)).toEqual(days);
  // Those that have ended are known, too.
  const more = await runtime.schedules.backfill('report', {
    ...range,
    from: '2029-12-28T00:00:00Z',
  });
  expect(more.jobs.map(({ isNew }) => isNew)).toEqual([true, false, false, false]);
  const at = '2029-12-31T02:00:00Z';
  expect((await runtime.schedules.trigger('report', { at })).lastJob).toBe(first.jobs[2]?.id);
  expect(await runtime.schedules.list()).toEqual(before);
  await expect(runtime.schedules.backfill('none', range)).rejects.toMatchObject({
    code: 'not_found',
  });
});
