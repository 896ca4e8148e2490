/** Three days of waiting and a month of reports, in milliseconds. */
import { createTestRuntime, fake } from 'millrace/testing';
import type { TestRuntime } from 'millrace/testing';
import { expect, test } from 'vitest';
import { notice, send } from './notices.ts';
import { approve, book, charge, order } from './orders.ts';
import { listOrders, report } from './report.ts';

const mails: string[] = [];
const fakes = [
  fake(charge, ({ id }) => ({ receipt: `r-${id}` })),
  fake(book, ({ order: { id } }) => ({ file: `${id}.json` })),
  fake(listOrders, () => ['A-1.json']),
  fake(send, ({ to, text }) => ({ sent: mails.push(`${to}: ${text}`) > 0 })),
  { name: 'sql', run: () => ({ queryId: 'q', columns: [], rows: [['cup', 2, 18]] }) },
];
const testRuntime = (more: typeof fakes = []): Promise<TestRuntime> =>
  createTestRuntime({ flows: [order, report, notice], fakes: [...fakes, ...more] });
const oven = { id: 'A-2', customer: 'Ada', item: 'oven', cents: 450_00 };

test('an order without a decision ends after three days, and nothing is charged', async () => {
  const decided = fake(approve, async (_, ctx) => {
    if ((await ctx.waitFor('decision', { timeout: '3d' })) === undefined) throw new Error('late');
    return { approved: true, by: 'Grace' };
  });
  await using runtime = await testRuntime([decided]);
  const job = await runtime.submit(order, oven);
  await expect(job.result()).rejects.toThrow('late');
  expect(runtime.ran('charge')).toEqual([]);

  // Asked again, somebody decides.
  await runtime.rerun(job);
  await runtime.advance('1d');
  await job.signal('decision', { approved: true, by: 'Grace' });
  expect(await job.result()).toEqual({ receipt: 'r-A-2', file: 'A-2.json' });
});

test('a small order needs no decision; the same order in another job is charged once', async () => {
  await using runtime = await testRuntime();
  const cup = { ...oven, id: 'A-1', item: 'cup', cents: 900 };
  const [one, other] = [await runtime.start('order', cup), await runtime.submit(order, cup)];
  expect(await one.result()).toEqual(await other.result());
  expect(runtime.ran('charge')).toHaveLength(1);
  expect((await runtime.job(one)).labels).toEqual({ customer: 'Ada' });
});

test('the report comes every night', async () => {
  await using runtime = await testRuntime();
  await runtime.schedules.put('nightly', { cron: '30 2 * * *', flow: report, input: {} });
  await runtime.advance('30d');
  expect(await runtime.jobs('report')).toHaveLength(30);
  expect(mails.slice(0, 2)).toEqual(['boss: cup: 2 for 18 EUR', 'boss: cup: 2 for 18 EUR']);
  const [last = ''] = await runtime.jobs('report');
  const again = await runtime.fork(last, 'tell');
  expect(await again.result()).toEqual({ text: 'cup: 2 for 18 EUR', sent: true });
});
