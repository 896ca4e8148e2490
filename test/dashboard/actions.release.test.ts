/** Links between jobs, and the actions that change one. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { closeBrowser, openPage } from '../rig/browser.ts';
import { startDashboard } from '../rig/dashboard-server.ts';

afterAll(closeBrowser);

const LIMIT_MS = 120_000;

/** A task that fails once, calls a flow, and returns what it was given. */
function writeModule(): string {
  const folder = mkdtempSync(join(tmpdir(), 'dashboard-module-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const addressOf = (file: string): string =>
    JSON.stringify(pathToFileURL(join(import.meta.dirname, '../..', file)).href);
  const path = join(folder, 'tasks.mjs');
  writeFileSync(
    path,
    `import { defineFlow, defineTask } from ${addressOf('dist/client/millrace.js')};
     import { z } from ${addressOf('node_modules/zod/index.js')};
     export const bill = defineTask({ name: 'bill', run: async ({ amount }) => ({ billed: amount }) });
     export const order = defineTask({
       name: 'order',
       run: async ({ amount }, { attempt, step, call }) => {
         if (attempt === 1) throw new Error('the bank is closed');
         await step('reserve', () => ({ place: 7 }));
         return call('invoice', bill, { amount });
       },
     });
     export const billing = defineFlow({
       name: 'billing',
       input: z.object({
         amount: z.int().min(1).describe('in cents'),
         currency: z.enum(['EUR', 'USD']),
         note: z.string().optional(),
       }),
       build: ({ input, task }) => task('bill', bill, { amount: input.amount }),
     });`,
  );
  return path;
}

test(
  'a fork takes another input, a flow starts from a form, and one action is on all that fit',
  async () => {
    const server = await startDashboard(['--module', writeModule()]);
    const id = await server.submit({
      name: 'order 17',
      tasks: [
        { id: 'stock', executor: 'echo', input: { left: 3 } },
        {
          id: 'order',
          executor: 'order',
          dependsOn: ['stock'],
          retry: { maxAttempts: 3, backoffMs: 1 },
          input: { amount: 40, currency: 'EUR' },
        },
      ],
    });
    await server.ended(id);
    const { page, complaints } = await openPage(`${server.url}/#/jobs/${id}?task=order`);
    const panel = page.getByRole('complementary', { name: 'Task order' });
    await panel.getByText('the bank is closed').first().waitFor();
    await panel.getByText('reserve').waitFor();
    await panel.getByRole('link', { name: 'invoice' }).click();
    await page.getByRole('heading', { name: 'bill' }).waitFor();
    await page.getByText('called by').getByRole('link').click();
    await page.getByRole('heading', { name: 'order 17' }).waitFor();
    await page.goto(`${server.url}/#/jobs/${id}?task=order`);
    await page.getByRole('button', { name: 'Fork from here' }).click();
    const box = page.getByLabel('Input of order (JSON)');
    await page.getByText('The input is not changed.').waitFor();
    await box.fill('{"amount": 41, "currency": ');
    await page.getByText('This is not JSON').waitFor();
    expect(await page.getByRole('button', { name: /^Create the job/ }).isDisabled()).toBe(true);
    await box.fill('{"amount": 41, "currency": "EUR"}');
    await page.getByText('"amount": 40,').waitFor();
    await page.getByText('takes over 1 result and runs 1 task again').waitFor();
    await page.getByRole('button', { name: 'Create the job with this input' }).click();
    await page.waitForURL((url) => !url.hash.includes(id));
    await page.getByText(/^Succeeded in/).waitFor();
    const [, fork = ''] = /jobs\/([^?]+)/.exec(page.url()) ?? [];
    const { tasks } = await server.call<{ tasks: { result: unknown }[] }>('GET', `jobs/${fork}`);
    expect(tasks.map(({ result }) => result)).toEqual([{ left: 3 }, { billed: 41 }]);

    await page.goto(`${server.url}/#/jobs`);
    await page.getByRole('button', { name: 'Start a job' }).click();
    await page.getByLabel('What').selectOption('billing');
    await page.getByText('1 live worker can run it').waitFor();
    const start = page.getByRole('button', { name: 'Start', exact: true });
    await page.getByLabel('amount').fill('forty');
    await page.getByText('amount is not a whole number.').waitFor();
    expect(await start.isDisabled()).toBe(true);
    await page.getByLabel('amount').fill('0');
    await page.getByLabel('currency').selectOption('USD');
    await start.click();
    await page.getByText('/input/amount').waitFor();
    await page.getByLabel('amount').fill('40');
    await start.click();
    await page.getByRole('heading', { name: 'billing' }).waitFor();
    await page.getByText(/^Succeeded in/).waitFor();

    await page.goto(`${server.url}/#/jobs?q=took>1d`);
    expect(await page.getByRole('button', { name: 'Act on all' }).isDisabled()).toBe(true);
    await page.getByLabel('Search jobs').fill('name:billing');
    await page.getByRole('button', { name: 'Act on all' }).click();
    await page.getByText('1 job', { exact: true }).waitFor();
    await page.getByLabel('Action').selectOption('rerun');
    await page.getByRole('button', { name: 'Rerun all' }).click();
    await page.getByRole('heading', { name: 'bulk' }).waitFor();
    await page.getByText(/^Succeeded in/).waitFor();
    // The browser itself says so of the input that was refused.
    expect(complaints.filter((text) => !text.includes('400 (Bad Request)'))).toEqual([]);
  },
  LIMIT_MS,
);

test(
  'a stage shows who has written how much for which partition, and skew in words',
  async () => {
    const server = await startDashboard();
    const orders = join(server.folder, 'orders.parquet');
    const made = await server.call<{ id: string }>('POST', 'queries', {
      sql: `select case when range % 10 < 8 then 'same' else 'k' || range end as region, range as amount from range(4000)`,
    });
    await server.ended(made.id);
    const rows = await fetch(`${server.url}/api/v1/queries/${made.id}/results?format=parquet`);
    writeFileSync(orders, Buffer.from(await rows.arrayBuffer()));
    const { id } = await server.call<{ id: string }>('POST', 'queries', {
      sql: 'select region, row_number() over (partition by region order by amount) as n from orders',
      tables: { orders },
      settings: { shufflePartitions: 4, singleFragmentBytes: 0 },
    });
    await server.ended(id);
    const { page, complaints } = await openPage(`${server.url}/#/queries/${id}?tab=stages`);
    await page
      .getByText(/^Skewed: partition \d holds 8\d % of the rows; an even share is 25 %/)
      .waitFor();
    await page.getByText(/^Shuffle: \d+ producers? × 4 partitions/).click();
    await page.getByRole('cell', { name: /B$/ }).first().waitFor();
    await page.goto(`${server.url}/#/queries`);
    await page.getByLabel('Tables').fill(`orders = ${orders}`);
    const editor = page.getByRole('textbox', { name: 'SQL' });
    await editor.click();
    await page.keyboard.type('select orders.re');
    await page.getByRole('option', { name: 'region' }).click();
    await page.keyboard.type(' from ord');
    await page.getByRole('option', { name: 'orders' }).click();
    await page.keyboard.press('Control+Enter');
    await page.getByText('4,000 rows').waitFor();
    expect(complaints).toEqual([]);
  },
  LIMIT_MS,
);
