import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineTask } from '../client/millrace.ts';
import { createTestRuntime } from './index.ts';

const expense = defineTask({
  name: 'expense',
  input: z.number(),
  run: (_cents, ctx) => ctx.waitFor<string>('approval'),
});

test('the jobs that wait for a signal are those that somebody has to answer', async () => {
  const runtime = await createTestRuntime({ tasks: [expense] });
  const [small, large] = [await runtime.submit(expense, 1), await runtime.submit(expense, 9_900)];
  expect(await runtime.jobs({ waitingFor: 'approval' })).toEqual([]);
  await runtime.settle();
  expect(await runtime.jobs({ waitingFor: 'approval' })).toEqual([large.id, small.id]);
  expect(await runtime.jobs({ waitingFor: '*', state: 'running' })).toHaveLength(2);
  await large.signal('approval', 'Ada');
  expect(await runtime.jobs({ waitingFor: 'approval' })).toEqual([small.id]);
  await expect(large.result()).resolves.toBe('Ada');
  expect(await runtime.jobs('expense')).toHaveLength(2);
});
