/** Flows that hear of the ends of all jobs, in the test kit. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineFlow, defineTask, FatalError } from '../client/millrace.ts';
import { createTestRuntime } from './index.ts';

const ended = z.object({
  job: z.object({ id: z.string(), name: z.string(), state: z.string() }),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  task: z.object({ id: z.string(), code: z.string(), message: z.string() }),
});
const tell = defineTask({
  name: 'tell',
  input: z.object({ text: z.string(), isBroken: z.boolean().optional() }),
  run: ({ text }) => {
    if (text === 'boom') throw new FatalError('the listener fails as well');
    return text;
  },
});
const alert = defineFlow({
  name: 'alert',
  input: ended,
  on: ['millrace.job.failed'],
  build: ({ input, task }) => task('t', tell, { text: input.task.message }),
});
const count = defineTask({
  name: 'count',
  on: ['millrace.job.succeeded', 'millrace.job.cancelled'],
  run: (input: { job: { name: string; state: string } }) => `${input.job.name} ${input.job.state}`,
});
const fails = defineTask({
  name: 'fails',
  input: z.object({ why: z.string() }),
  run: ({ why }) => {
    throw Object.assign(new FatalError(why), { code: 'no_money' });
  },
});

test('a flow is started by the failure of any job, once for each', async () => {
  await using runtime = await createTestRuntime({ flows: [alert], tasks: [fails] });
  const job = await runtime.submit(fails, { why: 'the card was refused' });
  await expect(runtime.result(job)).rejects.toThrow('the card was refused');
  const [id = '', ...others] = await runtime.jobs({ name: 'alert' });
  expect(others).toEqual([]);
  expect(await runtime.result(id)).toBe('the card was refused');
  const heard = await runtime.job(id);
  expect(heard).toMatchObject({ startedBy: { event: 'millrace.job.failed', id: job.id } });
});

test('a flow hears of the ends of jobs that it chooses', async () => {
  const chosen = defineTask({
    name: 'chosen',
    on: [
      { event: 'millrace.job.failed', match: { 'job.name': 'fails', 'job.labels.team': 'a' } },
      { event: 'millrace.job.failed', match: { 'task.code': 'unheard_of' } },
    ],
    run: (input: { job: { id: string } }) => input.job.id,
  });
  await using runtime = await createTestRuntime({ tasks: [chosen, fails] });
  for (const options of [{}, { labels: { team: 'b' } }, { labels: { team: 'a' }, name: 'other' }]) {
    await runtime.result(await runtime.submit(fails, { why: 'x' }, options)).catch(() => {});
  }
  await runtime.settle();
  expect(await runtime.jobs({ name: 'chosen' })).toEqual([]);
  const job = await runtime.submit(fails, { why: 'x' }, { labels: { team: 'a' } });
  await runtime.result(job).catch(() => {});
  const [id = '', ...more] = await runtime.jobs({ name: 'chosen' });
  expect([await runtime.result(id), more]).toEqual([job.id, []]);
});

test('a listener that fails raises nothing', async () => {
  await using runtime = await createTestRuntime({ flows: [alert], tasks: [fails] });
  await runtime.result(await runtime.submit(fails, { why: 'boom' })).catch(() => {});
  await runtime.settle();
  const alerts = await runtime.jobs({ name: 'alert' });
  expect(alerts).toHaveLength(1);
  expect((await runtime.job(alerts[0] ?? '')).state).toBe('failed');
});

test('called jobs tell their callers and nobody else', async () => {
  const caller = defineTask({
    name: 'caller',
    run: async (_: null, ctx) => {
      await ctx.call('child', fails, { why: 'inner' }).catch(() => {});
      return 'went on';
    },
  });
  await using runtime = await createTestRuntime({ flows: [alert], tasks: [fails] });
  expect(await runtime.result(await runtime.submit(caller, null))).toBe('went on');
  await runtime.settle();
  expect(await runtime.jobs({ name: 'alert' })).toEqual([]);
});

test('a called job that is abandoned raises nothing, so a listener that calls does not start itself', async () => {
  const slow = defineTask({
    name: 'slow',
    run: async (_: null, ctx) => ctx.sleep('long', '1h'),
  });
  const heard = defineTask({
    name: 'heard',
    input: z.object({ job: z.object({ name: z.string() }) }),
    on: ['millrace.job.cancelled'],
    run: async ({ job }, ctx) => {
      await Promise.race([ctx.call('child', slow, null), ctx.sleep('short', '1s')]);
      return job.name;
    },
  });
  await using runtime = await createTestRuntime({ tasks: [slow, heard] });
  const job = await runtime.submit(slow, null);
  await runtime.cancel(job);
  await runtime.settle();
  const heardJobs = await runtime.jobs({ name: 'heard' });
  expect(heardJobs).toHaveLength(1);
  expect(await runtime.result(heardJobs[0] ?? '')).toBe('slow');
  await runtime.settle();
  expect(await runtime.jobs({ name: 'heard' })).toHaveLength(1);
});

test('of a singleton that listens one lives at a time', async () => {
  const digest = defineTask({
    name: 'digest',
    on: ['millrace.job.failed'],
    singleton: {},
    run: async (_: unknown, ctx) => ctx.sleep('collect', '1h'),
  });
  await using runtime = await createTestRuntime({ tasks: [fails, digest] });
  for (const why of ['one', 'two', 'three'])
    await runtime.result(await runtime.submit(fails, { why })).catch(() => {});
  expect(await runtime.jobs({ name: 'digest' })).toHaveLength(1);
});

test('a listener whose schema refuses the end is there as a failed job', async () => {
  const strict = defineFlow({
    name: 'strict',
    input: z.object({ order: z.string() }),
    on: ['millrace.job.failed'],
    build: ({ input, task }) => task('t', tell, { text: input.order }),
  });
  await using runtime = await createTestRuntime({ flows: [strict], tasks: [fails] });
  await runtime.result(await runtime.submit(fails, { why: 'x' })).catch(() => {});
  const [id = ''] = await runtime.jobs({ name: 'strict' });
  expect(await runtime.job(id)).toMatchObject({ state: 'failed', error: { code: 'bad_input' } });
  // Nor does it raise the next event.
  await runtime.settle();
  expect(await runtime.jobs({ name: 'strict' })).toHaveLength(1);
});

test('names of events of Millrace itself are checked', () => {
  const define = (on: string) => (): unknown => defineTask({ name: 't', on: [on], run: () => 1 });
  expect(define('millrace.job.faild')).toThrow(/Did you mean/);
  expect(define('millrace.job.cancelled')).not.toThrow();
});

test('a task is started by successes and cancellations', async () => {
  const listening = defineFlow({
    name: 'listening',
    input: z.object({ job: z.object({ name: z.string(), state: z.string() }) }),
    on: ['millrace.job.succeeded', 'millrace.job.cancelled'],
    build: ({ input, task }) => task('t', count, { job: input.job }),
  });
  await using runtime = await createTestRuntime({ flows: [listening] });
  const good = await runtime.submit(tell, { text: 'x' });
  await runtime.result(good);
  await runtime.settle();
  const jobs = await runtime.jobs({ name: 'listening' });
  expect(jobs).toHaveLength(1);
  expect(await runtime.result(jobs[0] ?? '')).toBe('tell succeeded');
});
