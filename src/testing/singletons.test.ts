import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineFlow, defineTask } from '../client/millrace.ts';
import { createTestRuntime } from './index.ts';

const pull = defineTask({
  name: 'pull',
  input: z.object({ tenant: z.string() }),
  run: async ({ tenant }, ctx) => {
    await ctx.sleep('wait', '1h');
    return `${tenant} is here`;
  },
});

const sync = defineFlow({
  name: 'sync',
  input: z.object({ tenant: z.string() }),
  singleton: { key: (input) => input.tenant },
  build: ({ input, task }) => task('pull', pull, input),
});

test('a flow of which one runs for each tenant, started as code and by name', async () => {
  const runtime = await createTestRuntime({ flows: [sync], tasks: [pull] });
  const first = await runtime.submit(sync, { tenant: 'acme' });
  const second = await runtime.submit(sync, { tenant: 'acme' });
  expect([second.id, second.isNew]).toEqual([first.id, false]);
  expect((await runtime.submit(sync, { tenant: 'other' })).isNew).toBe(true);
  const byName = await runtime.start('sync', { tenant: 'acme' });
  expect([byName.id, byName.isNew]).toEqual([first.id, false]);
  await expect(second.result()).resolves.toBe('acme is here');
  expect((await runtime.submit(sync, { tenant: 'acme' })).isNew).toBe(true);
});

test('the caller may say so for one job, and that it takes the place of the other', async () => {
  const runtime = await createTestRuntime({ tasks: [pull] });
  const singleton = { key: 'pull', whenBusy: 'replace' } as const;
  const first = await runtime.submit(pull, { tenant: 'a' }, { singleton });
  const second = await runtime.submit(pull, { tenant: 'b' }, { singleton });
  expect(second.isNew).toBe(true);
  await expect(second.result()).resolves.toBe('b is here');
  expect(await first.job()).toMatchObject({ state: 'cancelled', error: { code: 'superseded' } });
});
