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

test('a job that a client has submitted without labels has neither', async () => {
  const runtime = await createTestRuntime({ tasks: [say] });
  const job = await runtime.submit(say, null);
  expect(await job.result()).toEqual({ startedBy: null, labels: {} });
});
