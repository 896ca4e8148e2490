import { expect, test } from 'vitest';
import { defineTask } from '../client/millrace.ts';
import { createTestRuntime } from './index.ts';

const say = defineTask({
  name: 'say',
  on: ['order.created'],
  run: (_input: unknown, { startedBy, labels }) => ({ startedBy, labels }),
});
const parent = defineTask({
  name: 'parent',
  run: (_input: unknown, ctx) => ctx.submit('child', say, null, { labels: { of: 'parent' } }),
});

test('a handler knows the event that has started its job, and the labels of the job', async () => {
  const runtime = await createTestRuntime({ tasks: [say] });
  const labels = { team: 'billing' };
  const [sent] = await runtime.send('order.created', null, { id: 'e1', labels });
  expect(await runtime.result(sent?.id ?? expect.fail('not started'))).toEqual({
    startedBy: { event: 'order.created', id: 'e1' },
    labels,
  });
});

test('a handler knows the task that has submitted its job', async () => {
  const runtime = await createTestRuntime({ tasks: [say, parent] });
  const job = await runtime.submit(parent, null);
  const child = await job.result();
  expect(await runtime.result(child)).toEqual({
    startedBy: { job: job.id, task: 'parent' },
    labels: { of: 'parent' },
  });
});

test('a handler knows the task that has called its job, and jobs are found by what has started them', async () => {
  const caller = defineTask({
    name: 'caller',
    run: (_input: unknown, ctx) => ctx.call('child', say, null),
  });
  const nightly = defineTask({ name: 'nightly', schedule: { everyMs: 60_000 }, run: () => null });
  await using runtime = await createTestRuntime({ tasks: [say, parent, caller, nightly] });
  const calling = await runtime.submit(caller, null);
  const by = { job: calling.id, task: 'caller' };
  expect(await calling.result()).toMatchObject({ startedBy: by });
  const [called = '', ...others] = await runtime.jobs({ startedBy: by });
  expect([others, (await runtime.job(called)).startedBy]).toEqual([[], by]);
  const submitting = await runtime.submit(parent, null);
  const submitted = await submitting.result();
  expect(await runtime.jobs({ startedBy: { job: submitting.id } })).toEqual([submitted]);
  expect(await runtime.jobs({ startedBy: by, name: 'other' })).toEqual([]);
  expect(await runtime.jobs({ startedBy: `job/${submitting.id}/other` })).toEqual([]);
  const [one] = await runtime.send('order.created', null, { id: 'e/"1"', labels: { a: 'b' } });
  const [two] = await runtime.send('order.created', null, { id: 'e2' });
  const event = 'order.created';
  expect(await runtime.jobs({ startedBy: { event } })).toEqual([two?.id, one?.id]);
  expect(await runtime.jobs({ startedBy: { event, id: 'e/"1"' } })).toEqual([one?.id]);
  expect(await runtime.jobs({ startedBy: { event }, labels: { a: 'b' } })).toEqual([one?.id]);
  expect(await runtime.jobs({ startedBy: { event: 'order' } })).toEqual([]);
  await runtime.schedules.resume('nightly');
  await runtime.advance('2m');
  expect(await runtime.jobs({ schedule: 'nightly' })).toHaveLength(2);
  expect(await runtime.jobs({ schedule: 'night' })).toEqual([]);
  await expect(runtime.jobs({ startedBy: 'somebody' })).rejects.toThrow(/event\/NAME/);
});

test('a job that a client has submitted without labels has neither', async () => {
  const runtime = await createTestRuntime({ tasks: [say] });
  const job = await runtime.submit(say, null);
  expect(await job.result()).toEqual({ startedBy: null, labels: {} });
});
