/**
 * The pictures of docs/guide/dashboard.md. `PICTURES=docs/guide/pictures npx vitest run --mode full test/dashboard/pictures`
 * takes them again; without a folder the test only looks whether all of it is there.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Page } from 'playwright-core';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { closeBrowser, openPage } from '../rig/browser.ts';
import { type DashboardServer, startDashboard } from '../rig/dashboard-server.ts';

afterAll(closeBrowser);

const FOLDER = process.env['PICTURES'];

/** Tasks that take a while, print, and fail at first. */
function writeModule(): string {
  const folder = mkdtempSync(join(tmpdir(), 'dashboard-pictures-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const millrace = pathToFileURL(join(import.meta.dirname, '../../dist/client/millrace.js')).href;
  const path = join(folder, 'tasks.mjs');
  writeFileSync(
    path,
    `import { setTimeout as pause } from 'node:timers/promises';
     import { defineTask } from ${JSON.stringify(millrace)};
     const task = (name, ms, say) =>
       defineTask({
         name,
         run: async (input, ctx) => {
           await pause(ms);
           say?.(ctx, input);
           return { rows: 48_196 };
         },
       });
     export const fetch = task('fetch', 400, ({ log }, { url }) => log.info('GET ' + url, { status: 200, rows: 48213 }));
     export const clean = task('clean', 600, ({ log }) => log.warn('17 rows without a customer were dropped', { rows: 17 }));
     export const enrich = task('enrich', 300);
     export const publish = task('publish', 200, ({ log }) => log.info('published', { version: 42 }));
     export const charge = task('charge', 300, ({ attempt, log }, { cents }) => {
       log.info('charging ' + cents + ' cents', { customer: 'c-118' });
       if (attempt > 2) return;
       log.error('Error: the bank is closed\\n    at charge (bank.js:17:9)\\n    at async run (order.js:4:3)');
       throw new Error('the bank is closed');
     });`,
  );
  return path;
}

async function withWork(server: DashboardServer): Promise<Readonly<Record<string, string>>> {
  for (const [name, team] of [
    ['send mail', 'shop'],
    ['resize image', 'shop'],
    ['sync crm', 'sales'],
  ] as const)
    await server.submit({ name, labels: { team }, tasks: [{ id: 'a', executor: 'enrich' }] });
  const failed = await server.submit({
    name: 'order 1042',
    labels: { team: 'shop', customer: 'c-118' },
    tasks: [{ id: 'charge', executor: 'charge', input: { cents: 900 }, retry: { maxAttempts: 1 } }],
  });
  const parts = Array.from({ length: 24 }, (_, at) => `enrich.${at}`);
  const report = await server.submit({
    name: 'nightly report',
    labels: { team: 'data', tier: 'gold' },
    tasks: [
      { id: 'fetch.orders', executor: 'fetch', input: { url: 'https://shop.example/orders' } },
      {
        id: 'fetch.customers',
        executor: 'fetch',
        input: { url: 'https://shop.example/customers' },
      },
      { id: 'clean', executor: 'clean', dependsOn: ['fetch.orders', 'fetch.customers'] },
      ...parts.map((id) => ({ id, executor: 'enrich', dependsOn: ['clean'] })),
      {
        id: 'charge',
        executor: 'charge',
        dependsOn: ['clean'],
        input: { cents: 4200 },
        retry: { maxAttempts: 4, backoffMs: 700 },
      },
      { id: 'publish', executor: 'publish', dependsOn: [...parts, 'charge'] },
    ],
  });
  await Promise.all([server.ended(failed), server.ended(report)]);
  const stuck = await server.submit({
    name: 'train model',
    labels: { team: 'ml' },
    tasks: [
      { id: 'load', executor: 'echo' },
      {
        id: 'train',
        executor: 'echo',
        dependsOn: ['load'],
        placement: { capabilities: { gpu: 'nvidia', cuda: { '>=': 12 }, cpu_cores: { '>=': 1 } } },
      },
      { id: 'evaluate', executor: 'echo', dependsOn: ['train'] },
    ],
  });
  await server.call('POST', 'queues/pause', {
    executor: 'mail',
    reason: 'the mail server is down until 06:00',
  });
  return { report, stuck, ...(await withQueries(server)) };
}

/** Distributed queries over a file; the keys of the second one are uneven. */
async function withQueries(
  server: DashboardServer,
): Promise<{ readonly query: string; readonly skewed: string }> {
  const made = await server.call<{ id: string }>('POST', 'queries', {
    sql: `select ['DE', 'FR', 'US'][1 + (range % 3)::int] as region, case when range % 10 < 7 then 'c-1' else 'c-' || range end as customer, range as amount from range(40000)`,
  });
  await server.ended(made.id);
  const rows = await fetch(`${server.url}/api/v1/queries/${made.id}/results?format=parquet`);
  const orders = join(server.folder, 'orders.parquet');
  writeFileSync(orders, Buffer.from(await rows.arrayBuffer()));
  const run = async (sql: string): Promise<string> => {
    const { id } = await server.call<{ id: string }>('POST', 'queries', {
      sql,
      tables: { orders },
      settings: { shufflePartitions: 4, singleFragmentBytes: 0 },
    });
    await server.ended(id);
    return id;
  };
  return {
    query: await run(
      'select region, count(*) as orders, sum(amount)::decimal(18,2) as total\nfrom orders group by region order by total desc',
    ),
    skewed: await run(
      'select customer, amount, rank() over (partition by customer order by amount desc) as place\nfrom orders',
    ),
  };
}

async function take(page: Page, name: string): Promise<void> {
  if (FOLDER !== undefined) await page.screenshot({ path: join(FOLDER, `${name}.png`) });
}

test('the views of the guide show what it says', async () => {
  const server = await startDashboard(['--module', writeModule(), '--node-id', 'n-1']);
  const { report, stuck, query, skewed } = await withWork(server);
  const views = [
    ['jobs', 'light', '#/jobs', 'train model'],
    ['job', 'light', `#/jobs/${report}?task=charge`, '3 attempts'],
    ['why', 'light', `#/jobs/${stuck}?task=train`, 'Why it waits'],
    ['logs', 'dark', `#/jobs/${report}?tab=logs`, 'the bank is closed'],
    ['graph', 'dark', `#/jobs/${report}?tab=graph`, '24 of 24 done'],
    ['plan', 'light', `#/queries/${query}?tab=plan`, 'As text'],
    ['stages', 'light', `#/queries/${skewed}?tab=stages`, 'Skewed'],
    ['health', 'dark', '#/health', 'the mail server is down'],
  ] as const;
  for (const [name, colorScheme, hash, text] of views) {
    const { page, complaints } = await openPage(`${server.url}/${hash}`, {
      colorScheme,
      viewport: { width: 1200, height: 640 },
      reducedMotion: 'reduce',
    });
    await page.getByText(text).first().waitFor();
    await page.getByText(/^#\d/).first().waitFor();
    if (name === 'job') await page.getByText('×3').waitFor();
    if (name === 'health') await page.setViewportSize({ width: 1200, height: 800 });
    if (name === 'stages')
      await page
        .getByText(/^Shuffle:/)
        .first()
        .click();
    if (name === 'why') await page.getByRole('heading', { name: 'Input' }).waitFor();
    await take(page, name);
    expect(complaints).toEqual([]);
  }
}, 240_000);
