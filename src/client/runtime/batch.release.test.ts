import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { createRuntime, defineTask } from '../millrace.ts';
import type { Runtime } from '../millrace.ts';

const runs: string[][] = [];
const notify = defineTask({
  name: 'notify',
  input: z.array(z.string()),
  retry: { maxAttempts: 1 },
  run: (items) => {
    runs.push(items);
    if (items.includes('bad')) throw new Error('no');
    return items.length;
  },
});

let runtime: Runtime;
beforeAll(async () => {
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  runtime = await createRuntime({ store: 'memory', tasks: [notify], log });
});
afterAll(() => runtime.close());

/** The batch starts when the last of them has come, not by time. */
async function submitted(key: string, lists: readonly (readonly string[])[]) {
  const batch = { key, max: lists.length, ms: 3_600_000 };
  const jobs = [];
  for (const list of lists) jobs.push(await runtime.submit(notify, [...list], { batch }));
  return jobs;
}

test('jobs of one batch run once, with the items of all, and each has the result', async () => {
  runs.length = 0;
  const jobs = await submitted('a', [['x', 'y'], ['z'], []]);
  expect(await Promise.all(jobs.map((job) => job.result()))).toEqual([3, 3, 3]);
  expect(runs).toEqual([['x', 'y', 'z']]);
  expect(new Set(jobs.map(({ id }) => id)).size).toBe(3);
});

test('a batch that fails has failed for all of its jobs, and each can be run again by itself', async () => {
  const jobs = await submitted('b', [['good'], ['bad']]);
  for (const job of jobs) {
    await expect(job.result()).rejects.toThrow(/no/);
  }
  runs.length = 0;
  await runtime.rerun(jobs[0]!);
  expect(await jobs[0]!.result()).toBe(1);
  const fork = await runtime.fork(jobs[1]!, 'notify', { input: ['mended', 'twice'] });
  expect(await fork.result()).toBe(2);
  expect(runs).toEqual([['good'], ['mended', 'twice']]);
});

test('a task is started by its name, in batches too, and its schema is checked', async () => {
  expect(await runtime.flows()).toMatchObject([{ name: 'notify', input: { type: 'array' } }]);
  runs.length = 0;
  const batch = { key: 'by name', max: 2, ms: 3_600_000 };
  const jobs = [
    await runtime.start('notify', ['x'], { batch }),
    await runtime.start('notify', ['y'], { batch }),
  ];
  expect(await Promise.all(jobs.map((job) => job.result()))).toEqual([2, 2]);
  expect(runs).toEqual([['x', 'y']]);
  expect(await (await runtime.start('notify', ['z'])).result()).toBe(1);
  await expect(runtime.start('notify', 'x')).rejects.toMatchObject({
    code: 'bad_input',
    path: '/input',
  });
});
