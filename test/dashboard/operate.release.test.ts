/** What an operator does to jobs that wait: signals, times, priorities, removal; and events that start flows. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { closeBrowser, openPage } from '../rig/browser.ts';
import { startDashboard } from '../rig/dashboard-server.ts';

afterAll(closeBrowser);

const LIMIT_MS = 120_000;

function writeModule(): string {
  const folder = mkdtempSync(join(tmpdir(), 'dashboard-module-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const entry = join(import.meta.dirname, '../../dist/client/millrace.js');
  const path = join(folder, 'tasks.mjs');
  writeFileSync(
    path,
    `import { defineTask } from ${JSON.stringify(pathToFileURL(entry).href)};
     export const expense = defineTask({ name: 'expense', run: (_, ctx) => ctx.waitFor('approval') });
     export const paid = defineTask({ name: 'paid', on: ['order.paid'], run: async (data) => data });`,
  );
  return path;
}

const task = (id: string, executor: string): object => ({ id, executor });

test(
  'signals are sent from the list, delayed jobs start, and ended ones are removed',
  async () => {
    const server = await startDashboard(['--module', writeModule()]);
    const approved = await server.submit({ name: 'trip', tasks: [task('a', 'expense')] });
    await server.submit({ name: 'dinner', tasks: [task('a', 'expense')] });
    const late = await server.submit({
      name: 'reminder',
      runAt: '2100-01-01T00:00:00Z',
      tasks: [task('a', 'echo')],
    });
    const { page, complaints } = await openPage(`${server.url}/#/jobs`);
    await page.getByRole('button', { name: 'waiting for a signal' }).click();
    await page.getByRole('button', { name: 'Send approval to dinner' }).waitFor();
    expect(await page.getByRole('link', { name: 'reminder' }).count()).toBe(0);
    // By the keyboard alone.
    await page.getByRole('button', { name: 'Send approval to trip' }).focus();
    await page.keyboard.press('Enter');
    await page.getByLabel('Value (JSON, or nothing for null)').fill('{"by": "Ada"}');
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByText('a took it.').waitFor();
    await page
      .getByRole('button', { name: 'Send approval to trip' })
      .waitFor({ state: 'detached' });
    await server.ended(approved);

    await page.getByRole('button', { name: 'Act on all' }).click();
    await page.getByText('1 job', { exact: true }).waitFor();
    await page.getByLabel('Action').selectOption('signal');
    expect(await page.getByRole('button', { name: 'Signal all' }).isDisabled()).toBe(true);
    await page.getByLabel('Name').fill('approval');
    await page.getByRole('button', { name: 'Signal all' }).click();
    await page.getByRole('heading', { name: 'bulk' }).waitFor();
    await page.getByText(/^Succeeded in/).waitFor();

    await page.goto(`${server.url}/#/jobs/${late}`);
    await page.getByRole('button', { name: 'Priority' }).click();
    await page.getByRole('combobox', { name: 'Priority' }).selectOption('0');
    await page.getByRole('button', { name: 'Change', exact: true }).click();
    await page.getByText('urgent priority').waitFor();
    await page.getByRole('button', { name: 'Reschedule' }).click();
    await page.getByLabel('When').selectOption('at');
    await page.getByLabel('Starts at').fill('2101-02-03T04:05:06');
    await page.getByRole('button', { name: 'Change the time' }).click();
    await page.getByText(/^starts .*2101/).waitFor();
    await page.getByRole('button', { name: 'Reschedule' }).click();
    await page.getByRole('button', { name: 'Start now' }).click();
    await page.getByText(/^Succeeded in/).waitFor();
    expect(await page.getByRole('button', { name: 'Reschedule' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('button', { name: 'Remove the job' }).click();
    await page.getByRole('heading', { name: 'Jobs' }).waitFor();
    await expect(server.call('GET', `jobs/${late}`)).rejects.toThrow(/404|no job/i);
    expect(complaints).toEqual([]);
  },
  LIMIT_MS,
);

test(
  'an event is sent by a form, which says what it starts and what it has started',
  async () => {
    const server = await startDashboard(['--module', writeModule()]);
    const { page, complaints } = await openPage(`${server.url}/#/events`);
    await page.getByRole('button', { name: 'Send an event' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('order.lost');
    await dialog.getByText('No flow listens to it').waitFor();
    await dialog.getByLabel('Name').fill('order.paid');
    await dialog.getByText('It starts paid.').waitFor();
    await dialog.getByLabel('Data (JSON, or nothing for null)').fill('{"id": "A-7"}');
    await dialog.getByRole('button', { name: 'Send', exact: true }).click();
    await dialog.getByRole('link', { name: 'paid' }).click();
    await page.getByRole('heading', { name: 'paid' }).waitFor();
    await page.getByText(/^Succeeded in/).waitFor();
    expect(complaints).toEqual([]);
  },
  LIMIT_MS,
);
