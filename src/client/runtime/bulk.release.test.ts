import { expect, test } from 'vitest';
import { z } from 'zod';
import { createRuntime, defineTask } from '../millrace.ts';

test('a bulk action runs again what failed, of one name and label, and gives its figures', async () => {
  let isDown = true;
  const charge = defineTask({
    name: 'charge',
    input: z.string(),
    retry: { maxAttempts: 1 },
    run: (customer) => {
      if (isDown) throw new Error('the bank is down');
      return `${customer} has paid`;
    },
  });
  await using runtime = await createRuntime({ tasks: [charge], store: 'memory' });
  const submit = (customer: string, tenant: string) =>
    runtime.submit(charge, customer, { labels: { tenant } });
  const jobs = await Promise.all([submit('Ada', 'a'), submit('Bob', 'a'), submit('Cy', 'b')]);
  const ended = await Promise.all(jobs.map((job) => runtime.ended(job)));
  expect(ended.map(({ state }) => state)).toEqual(['failed', 'failed', 'failed']);
  isDown = false;
  const match = { state: 'failed', name: 'charge', labels: { tenant: 'a' } } as const;
  const { found, changed } = await (await runtime.bulk('rerun', match)).result();
  expect({ found, changed }).toEqual({ found: 2, changed: 2 });
  const [ada, bob, cy] = jobs;
  expect([await ada.result(), await bob.result()]).toEqual(['Ada has paid', 'Bob has paid']);
  expect((await cy.job()).state).toBe('failed');
  await expect(runtime.bulk('cancel', {})).rejects.toThrow(/empty/);
});

test('all that wait are signalled, made urgent, started and removed in bulk', async () => {
  const approve = defineTask({
    name: 'approve',
    run: (_input, ctx) => ctx.waitFor<object>('ok'),
  });
  await using runtime = await createRuntime({ tasks: [approve], store: 'memory' });
  const before = new Date(Date.now() - 60_000);
  const jobs = await Promise.all([1, 2, 3].map(() => runtime.submit(approve)));
  const late = await runtime.submit(approve, undefined, { delay: '1d', labels: { late: 'yes' } });
  const figures = async (...bulk: Parameters<typeof runtime.bulk>) => {
    const { found, changed } = await (await runtime.bulk(...bulk)).result();
    return [found, changed];
  };
  expect(await figures('priority', { name: 'approve' }, { priority: 0 })).toEqual([4, 4]);
  expect(await figures('reschedule', { labels: { late: 'yes' } }, { runAt: 'now' })).toEqual([
    1, 1,
  ]);
  expect((await late.job()).priority).toBe(0);
  // A value that looks like a reference to a task is a value all the same.
  const value = { $from: 'bulk', path: '/x' };
  const match = { name: 'approve', since: before };
  expect(await figures('signal', match, { name: 'ok', value })).toEqual([4, 4]);
  for (const job of [...jobs, late]) expect(await job.result()).toEqual(value);
  expect(await figures('cancel', { until: before })).toEqual([0, 0]);
  expect(await figures('remove', { name: 'approve' })).toEqual([4, 4]);
  await expect(late.job()).rejects.toMatchObject({ code: 'not_found' });
});
