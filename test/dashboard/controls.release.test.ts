/** Every switch of the page does what it says: tasks, nodes, schedules, queries, the graph. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Page } from 'playwright-core';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { closeBrowser, openPage } from '../rig/browser.ts';
import { startDashboard } from '../rig/dashboard-server.ts';
import { until } from '../rig/until.ts';

afterAll(closeBrowser);

const LIMIT_MS = 120_000;

/** Tasks that fail and run as long as a file is not there. */
function writeModule(): { readonly path: string; readonly letGo: () => void } {
  const folder = mkdtempSync(join(tmpdir(), 'dashboard-module-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const millrace = pathToFileURL(join(import.meta.dirname, '../../dist/client/millrace.js')).href;
  const [path, gate] = [join(folder, 'tasks.mjs'), join(folder, 'gate')];
  writeFileSync(
    path,
    `import { existsSync, watch } from 'node:fs';
     import { defineTask } from ${JSON.stringify(millrace)};
     const isOpen = () => existsSync(${JSON.stringify(gate)});
     export const charge = defineTask({
       name: 'charge',
       retry: { maxAttempts: 1 },
       run: () => {
         if (!isOpen()) throw new Error('the bank is closed');
         return 'charged';
       },
     });
     export const hold = defineTask({
       name: 'hold',
       run: () => new Promise((resolve) => {
         const watcher = watch(${JSON.stringify(folder)}, () => look());
         const look = () => {
           if (!isOpen()) return;
           watcher.close();
           resolve(null);
         };
         look();
       }),
     });`,
  );
  return { path, letGo: () => writeFileSync(gate, '') };
}

/** The dialog says what will happen; then it is done. */
async function confirm(page: Page, button: string, says: RegExp | string): Promise<void> {
  await page.getByRole('button', { name: button, exact: true }).first().click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText(says).waitFor();
  await dialog.getByRole('button', { name: button, exact: true }).click();
  await dialog.waitFor({ state: 'detached' });
}

test(
  'a dead task is driven again, a failed job runs again, and the graph goes where something runs',
  async () => {
    const { path, letGo } = writeModule();
    const server = await startDashboard(['--module', path]);
    const chain = Array.from({ length: 9 }, (_, at) => ({
      id: `c${at}`,
      executor: at === 8 ? 'hold' : 'echo',
      dependsOn: at === 0 ? [] : [`c${at - 1}`],
    }));
    const long = await server.submit({ name: 'long', tasks: chain });
    const tasks = [
      { id: 'charge', executor: 'charge' },
      { id: 'ship', executor: 'echo', dependsOn: ['charge'] },
    ];
    const [first, second] = [
      await server.submit({ name: 'order 1', tasks }),
      await server.submit({ name: 'order 2', tasks }),
    ];
    await Promise.all([server.ended(first), server.ended(second)]);
    const { page, complaints } = await openPage(`${server.url}/#/jobs/${long}?tab=graph`);
    await page.getByRole('button', { name: /^c8 / }).waitFor();
    const scrolled = (): Promise<number> =>
      page.evaluate('document.querySelector(".canvas").scrollLeft');
    expect(await scrolled()).toBe(0);
    await page.getByLabel('Follow what runs').check();
    await until(async () => (await scrolled()) > 300, 'the graph to be where something runs');
    await page.getByLabel('Search tasks').fill('c0');
    await until(async () => (await scrolled()) === 0, 'the graph to be at the task that was found');
    letGo();
    await page.goto(`${server.url}/#/jobs/${first}?task=charge`);
    await confirm(
      page,
      'Redrive',
      /a new run with all its attempts, and so 1 task that was skipped/,
    );
    await page.getByText(/^Succeeded in/).waitFor();
    await page.goto(`${server.url}/#/jobs/${second}`);
    await confirm(page, 'Rerun', '2 tasks that did not succeed will run again, as run 2.');
    await page.getByText(/^Succeeded in/).waitFor();
    expect(complaints).toEqual([]);
  },
  LIMIT_MS,
);

test(
  'a schedule runs now, pauses and goes on, and a node that is drained finishes and leaves',
  async () => {
    const { path, letGo } = writeModule();
    const server = await startDashboard(['--module', path, '--node-id', 'n-1']);
    await server.call('PUT', 'schedules/nightly', {
      timing: { cron: '0 2 * * *' },
      document: { name: 'nightly', tasks: [{ id: 'a', executor: 'echo' }] },
    });
    const { page, complaints } = await openPage(`${server.url}/#/schedules`);
    await confirm(page, 'Run now', 'One more job starts at once.');
    await page.getByRole('link', { name: /^succeeded, / }).waitFor();
    await confirm(page, 'Pause', 'It starts no more jobs until it is resumed.');
    await page.getByText('not while it is paused').waitFor();
    await confirm(page, 'Resume', 'It starts jobs again, from the next time on.');
    await page.getByText('every day at 02:00').waitFor();
    await page.getByText('not while it is paused').waitFor({ state: 'detached' });
    const held = await server.submit({ name: 'holder', tasks: [{ id: 'h', executor: 'hold' }] });
    await page.goto(`${server.url}/#/nodes`);
    await page.getByRole('link', { name: /^holder: h/ }).waitFor();
    await confirm(page, 'Drain', /^It takes no more work, finishes 1 task and exits\./);
    await page.getByText('draining', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Release' }).click();
    await page.getByText('A worker that has begun to leave exits all the same.').waitFor();
    await page.getByRole('button', { name: 'Close' }).click();
    letGo();
    await server.ended(held);
    await page.getByText('No worker is connected').waitFor();
    expect(complaints).toEqual([]);
  },
  LIMIT_MS,
);

test(
  'a query with parameters is explained, run, copied and saved, and one that takes long is cancelled',
  async () => {
    const server = await startDashboard();
    const { page, complaints } = await openPage(`${server.url}/#/queries`);
    await page.getByRole('textbox', { name: 'SQL' }).click();
    await page.keyboard.type('select range as n, $1 as region from range($2)');
    await page.getByLabel('Parameters').fill('["EU, \u202Enorth", 3]');
    await page.getByRole('button', { name: 'Explain' }).click();
    await page.getByText('Would run whole.').waitFor();
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByText('3 rows').waitFor();
    await page.getByRole('button', { name: 'Copy', exact: true }).click();
    await page.getByText('3 rows copied, with tabs between the columns.').waitFor();
    const saved = async (name: string): Promise<Buffer> => {
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('link', { name, exact: true }).click(),
      ]);
      return readFileSync(await download.path());
    };
    expect((await saved('CSV')).toString()).toBe(
      'n,region\n0,"EU, \u202Enorth"\n1,"EU, \u202Enorth"\n2,"EU, \u202Enorth"\n',
    );
    expect((await saved('Parquet')).subarray(0, 4).toString()).toBe('PAR1');
    await page.goto(`${server.url}/#/queries`);
    const { id } = await server.call<{ id: string }>('POST', 'queries', {
      sql: 'select count(*) from range(100000000) a, range(100000) b where a.range % 7 = b.range % 11',
    });
    await page.goto(`${server.url}/#/queries/${id}`);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByText('Its running fragments are stopped').waitFor();
    await page.getByRole('button', { name: 'Cancel the query' }).click();
    await page.getByText('Cancelled.', { exact: true }).waitFor();
    expect(complaints).toEqual([]);
  },
  LIMIT_MS,
);
