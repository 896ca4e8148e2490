import { expect, test } from 'vitest';
import { defineTask } from '../client/millrace.ts';
import { createTestRuntime } from './index.ts';

const remind = defineTask({ name: 'remind', run: () => 'done' });

test('a delayed job starts at another time, or now', async () => {
  const runtime = await createTestRuntime({ tasks: [remind] });
  const [first, second] = [
    await runtime.submit(remind, undefined, { delay: '2d' }),
    await runtime.submit(remind, undefined, { delay: '2d' }),
  ];
  expect(await runtime.reschedule(first, { runAt: 'now' })).toBe(true);
  expect(await runtime.reschedule(second, { delay: '5d' })).toBe(true);
  await runtime.advance('3d');
  expect([(await first.job()).state, (await second.job()).state]).toEqual(['succeeded', 'queued']);
  expect(await runtime.reschedule(first, { runAt: 'now' })).toBe(false);
  await expect(second.result()).resolves.toBe('done');
  expect(runtime.now().toISOString()).toBe('2030-01-06T00:00:00.000Z');
});

test('jobs are listed by the time of their creation', async () => {
  const runtime = await createTestRuntime({ tasks: [remind] });
  const old = await runtime.submit(remind);
  await runtime.advance('1d');
  const fresh = await runtime.submit(remind);
  expect(await runtime.jobs({ since: runtime.now() })).toEqual([fresh.id]);
  expect(await runtime.jobs({ until: '2030-01-02T00:00:00Z' })).toEqual([old.id]);
});
