/** What each view offers beyond looking: search, follow, edit, and the keyboard. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { closeBrowser, openPage } from '../rig/browser.ts';
import { startDashboard } from '../rig/dashboard-server.ts';

afterAll(closeBrowser);

const LIMIT_MS = 120_000;

/** A task that prints, and one that runs until the test lets it go. */
function writeModule(): { readonly path: string; readonly letGo: () => void } {
  const folder = mkdtempSync(join(tmpdir(), 'dashboard-module-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const millrace = pathToFileURL(join(import.meta.dirname, '../../dist/client/millrace.js')).href;
  const [path, gate] = [join(folder, 'tasks.mjs'), join(folder, 'gate')];
  writeFileSync(
    path,
    `import { existsSync, watch } from 'node:fs';
     import { defineTask } from ${JSON.stringify(millrace)};
     export const print = defineTask({
       name: 'print',
       run: async (_input, { log }) => {
         log.info('charged <b>42</b> cents', { customer: 'Ada' });
         log.error('Error: the bank is closed\\n    at charge (bank.js:17:9)');
       },
     });
     export const hold = defineTask({
       name: 'hold',
       run: () => new Promise((resolve) => {
         const watcher = watch(${JSON.stringify(folder)}, () => look());
         const look = () => {
           if (!existsSync(${JSON.stringify(gate)})) return;
           watcher.close();
           resolve({ held: true });
         };
         look();
       }),
     });
     export const decide = defineTask({
       name: 'decide',
       run: async (_input, { step, waitFor }) => {
         await step('prepare', () => 1);
         return waitFor('decision', { timeout: '3d' });
       },
     });
     export const ask = defineTask({ name: 'ask', run: (_input, { call }) => call('held', hold) });`,
  );
  return { path, letGo: () => writeFileSync(gate, '') };
}

test(
  'a log is searched and narrowed to a level, and what has several lines is read as such',
  async () => {
    const server = await startDashboard(['--module', writeModule().path]);
    const id = await server.submit({ name: 'talks', tasks: [{ id: 'a', executor: 'print' }] });
    await server.ended(id);
    const { page, complaints } = await openPage(`${server.url}/#/jobs/${id}?tab=logs`);
    const log = page.getByRole('table', { name: 'Log' });
    await log.getByText('at charge (bank.js:17:9)').waitFor();
    await page.getByText('2 lines').waitFor();
    await page.getByLabel('Search the log').fill('ada');
    await page.getByText('1 of 2 lines').waitFor();
    expect(await log.getByText('the bank is closed').count()).toBe(0);
    await page.getByLabel('Search the log').fill('');
    await page.getByLabel('Lowest level').selectOption('error');
    await log.getByText('Error: the bank is closed').click();
    await page.getByRole('button', { name: 'Copy the line' }).waitFor();
    expect(await log.getByText('charged').count()).toBe(0);
    await page.getByLabel('Search the log').fill('nothing like it');
    await page.getByText('No line fits').waitFor();
    expect(await page.locator('.log-lines b').count()).toBe(0);
    expect(complaints).toEqual([]);
  },
  LIMIT_MS,
);

test(
  'lines come as they are printed, and what hides in text is shown',
  async () => {
    const { path, letGo } = writeModule();
    const server = await startDashboard(['--module', path]);
    const id = await server.submit({
      name: 'a\u202Egnp.exe',
      labels: { team: 'x\u200By' },
      tasks: [
        { id: 'first', executor: 'hold' },
        { id: 'second', executor: 'print', dependsOn: ['first'], input: '\u202Eabc' },
      ],
    });
    const { page, complaints } = await openPage(`${server.url}/#/jobs/${id}?tab=logs`);
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    await page.getByRole('heading', { name: 'a⟨202E⟩gnp.exe' }).waitFor();
    await page.getByRole('link', { name: 'team=x⟨200B⟩y' }).waitFor();
    await page.getByText('Nothing printed yet').waitFor();
    letGo();
    await page.getByText('2 lines').waitFor();
    await page.getByText(/^Succeeded in/).waitFor();
    // One question for what is there, then one stream: nothing is asked again and again.
    const logs = asked.filter((url) => url.includes('/logs'));
    expect(logs.filter((url) => !url.includes('follow=1')).length).toBeLessThanOrEqual(1);
    await page.goto(`${server.url}/#/jobs/${id}?task=second`);
    await page.getByText('"⟨202E⟩abc"').waitFor();
    await page.goto(`${server.url}/#/nodes`);
    await page.getByText('Shuffle disk').waitFor();
    expect(complaints).toEqual([]);
  },
  LIMIT_MS,
);

test(
  'a number of a result keeps all its digits',
  async () => {
    const server = await startDashboard();
    const tasks = [{ id: 'a', executor: 'echo', input: { n: 42 } }];
    const id = await server.submit({ name: 'exact', tasks });
    await server.ended(id);
    const { page, complaints } = await openPage(server.url);
    // As a worker in another language may report it.
    const digits = '12345678901234567890';
    await page.route(`**/api/v1/jobs/${id}`, async (route) => {
      const text = await (await route.fetch()).text();
      await route.fulfill({ body: text.replaceAll('"n":42', `"n":${digits}`) });
    });
    await page.goto(`${server.url}/#/jobs/${id}?tab=result`);
    await page.getByText(digits, { exact: true }).waitFor();
    expect(complaints).toEqual([]);
  },
  LIMIT_MS,
);

test(
  'a schedule is made and edited, with its times in words and what changes in its job',
  async () => {
    const server = await startDashboard();
    const { page, complaints } = await openPage(`${server.url}/#/schedules`);
    await page.getByRole('button', { name: 'New schedule' }).click();
    await page.getByLabel('Name').fill('tidy');
    await page.getByLabel('Minute, hour, day, month, weekday').fill('30 6 * * 1,4');
    await page.getByText('Runs every Monday and Thursday at 06:30, UTC.').waitFor();
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { name: 'tidy' }).waitFor();
    expect(await page.locator('.card ol time').count()).toBe(5);
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('Minute, hour, day, month, weekday').fill('61 6 * * *');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('/timing/cron').waitFor();
    await page.getByRole('combobox', { name: /^Runs/ }).selectOption('every');
    await page.getByLabel('Seconds').fill('soon');
    await page.getByText('Seconds are a number of at least 0.1.').waitFor();
    expect(await page.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true);
    await page.getByLabel('Seconds').fill('7200');
    await page
      .getByLabel('Job (JSON)')
      .fill('{"name": "tidied", "tasks": [{"id": "a", "executor": "echo"}]}');
    await page.getByText('"name": "tidied",').first().waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('every 2 h', { exact: true }).waitFor();
    const { spec } = await server.call<{ spec: { timing: unknown; document: { name: string } } }>(
      'GET',
      'schedules/tidy',
    );
    expect([spec.timing, spec.document.name]).toEqual([{ everyMs: 7_200_000 }, 'tidied']);
    // The browser itself says so of the pattern that was refused.
    expect(complaints.filter((text) => !text.includes('400 (Bad Request)'))).toEqual([]);
  },
  LIMIT_MS,
);

test(
  'slots lead to the jobs in them, a task that fits nowhere has a matrix, and health names the alerts',
  async () => {
    const { path, letGo } = writeModule();
    const server = await startDashboard(['--module', path]);
    const held = await server.submit({ name: 'holder', tasks: [{ id: 'h', executor: 'hold' }] });
    const stuck = await server.submit({
      name: 'stuck',
      tasks: [
        {
          id: 'train',
          executor: 'echo',
          placement: { capabilities: { gpu: 'nvidia', millrace_version: { '!=': 'none' } } },
        },
      ],
    });
    const { page, complaints } = await openPage(`${server.url}/#/nodes`);
    await page.getByRole('link', { name: /^holder: h, for / }).click();
    await page.getByRole('heading', { name: 'holder' }).waitFor();
    await page.getByRole('complementary', { name: 'Task h' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('complementary', { name: 'Task h' }).waitFor({ state: 'detached' });
    letGo();
    await page.getByText(/^Succeeded in/).waitFor();
    expect(page.url()).toContain(held);
    await page.goto(`${server.url}/#/jobs/${stuck}?task=train`);
    await page
      .getByText(/task train needs gpu 'nvidia'; the nearest node, \S+, has no gpu/)
      .waitFor();
    const matrix = page.getByRole('group', { name: 'Requirements and nodes' });
    await matrix.getByRole('row', { name: /gpu = 'nvidia' not met: missing/ }).waitFor();
    await matrix.getByRole('row', { name: /millrace_version != 'none' met: / }).waitFor();
    await matrix.getByRole('row', { name: /executor 'echo' met: offered/ }).waitFor();
    await page.goto(`${server.url}/#/health`);
    await page.getByText('All is well.').waitFor();
    await page.getByText(/alerts worth having/).click();
    await page.getByRole('row', { name: /A task that no node can run .* at most 5 min/ }).waitFor();
    expect(complaints).toEqual([]);
  },
  LIMIT_MS,
);

test(
  'a queue is paused and resumed, and what waits for it leads there',
  async () => {
    const { path } = writeModule();
    const server = await startDashboard(['--module', path]);
    const held = await server.submit({ name: 'holder', tasks: [{ id: 'h', executor: 'hold' }] });
    const { page, complaints } = await openPage(`${server.url}/#/health`);
    const queues = page.getByRole('region', { name: 'Queues' });
    await queues.getByRole('button', { name: 'Pause hold' }).click();
    await page.getByText('1 task that runs will not be stopped.').waitFor();
    await page.getByLabel('Reason').fill('the bank is down');
    await page.getByRole('button', { name: 'Pause', exact: true }).click();
    await queues.getByText(': the bank is down').waitFor();
    const caller = await server.submit({ name: 'caller', tasks: [{ id: 'c', executor: 'ask' }] });
    await page.goto(`${server.url}/#/jobs/${caller}?task=c`);
    const panel = page.getByRole('complementary', { name: 'Task c' });
    await panel.getByRole('listitem').filter({ hasText: 'hold' }).getByText('queued').waitFor();
    await page
      .getByText(/^Waiting for/)
      .locator('..')
      .getByRole('link')
      .click();
    await page.getByRole('heading', { name: 'hold', exact: true }).waitFor();
    await page.getByRole('button', { name: 'show hold' }).click();
    await page.getByRole('link', { name: 'Queues can be resumed here' }).click();
    await queues.getByRole('button', { name: 'Resume hold' }).click();
    await page.getByRole('button', { name: 'Resume', exact: true }).click();
    await queues.getByRole('button', { name: 'Pause hold' }).waitFor();
    expect(page.url()).not.toContain(held);
    expect(complaints).toEqual([]);
  },
  LIMIT_MS,
);

test(
  'a signal is sent to a task that waits, and stands among its steps and with the result',
  async () => {
    const server = await startDashboard(['--module', writeModule().path]);
    const id = await server.submit({ name: 'expense', tasks: [{ id: 'd', executor: 'decide' }] });
    const { page, complaints } = await openPage(`${server.url}/#/jobs/${id}?task=d`);
    await page.getByText(/task d waits for signal decision/).waitFor();
    await page.getByRole('button', { name: 'Signal' }).click();
    await page.getByText('Tasks wait for: decision.').waitFor();
    await page.getByLabel('Value (JSON, or nothing for null)').fill('{"by": "Ada"}');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText(/^Succeeded in/).waitFor();
    const panel = page.getByRole('complementary', { name: 'Task d' });
    await panel.getByRole('heading', { name: '3 steps' }).waitFor();
    const steps = await panel.locator('.attempts summary').allTextContents();
    expect(steps.toSorted()).toEqual(['decisionsignal', 'decisiontime limit', 'prepare']);
    await page.getByRole('link', { name: 'Result' }).click();
    await page.getByRole('heading', { name: '1 signal' }).waitFor();
    await page.getByText('taken by d').waitFor();
    expect(complaints).toEqual([]);
  },
  LIMIT_MS,
);

test(
  'keys go to every view, to the search and to a row, and a paused list stands still',
  async () => {
    const server = await startDashboard();
    await server.ended(
      await server.submit({ name: 'old', tasks: [{ id: 'a', executor: 'echo' }] }),
    );
    const { page, complaints } = await openPage(server.url);
    await page.getByRole('link', { name: 'old' }).waitFor();
    for (const [key, title] of [
      ['q', 'Queries'],
      ['n', 'Nodes'],
      ['s', 'Schedules'],
      ['e', 'Events'],
      ['h', 'Health'],
      ['j', 'Jobs'],
    ] as const) {
      await page.keyboard.press('g');
      await page.keyboard.press(key);
      await page.getByRole('heading', { name: title, level: 1 }).waitFor();
    }
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('p');
    await page.getByRole('button', { name: 'Paused' }).waitFor();
    const follows = await openPage(server.url);
    await follows.page.getByRole('link', { name: 'old' }).waitFor();
    await server.ended(
      await server.submit({ name: 'new', tasks: [{ id: 'a', executor: 'echo' }] }),
    );
    await follows.page.getByRole('link', { name: 'new' }).waitFor();
    expect(await page.getByRole('link', { name: 'new' }).count()).toBe(0);
    await page.keyboard.press('p');
    await page.getByRole('link', { name: 'new' }).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('name:old age<1h');
    await page.getByRole('button', { name: 'Remove age<1h' }).waitFor();
    await page.getByRole('link', { name: 'new' }).waitFor({ state: 'detached' });
    expect(decodeURIComponent(page.url()).replaceAll('+', ' ')).toContain('q=name:old age<1h');
    await page.keyboard.type(' age>>');
    await page.getByText("'age' compares with a time").waitFor();
    await page.keyboard.press('Escape');
    await page.reload();
    await page.getByRole('link', { name: 'old' }).waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'old' }).waitFor();
    expect(complaints).toEqual([]);
  },
  LIMIT_MS,
);
