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
