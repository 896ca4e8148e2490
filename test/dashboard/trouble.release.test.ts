/** The dashboard on bad days: large and hostile data, lost rights, lost servers. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { deferred } from '../../src/kit/index.ts';
import { closeBrowser, openPage } from '../rig/browser.ts';
import { freePort } from '../rig/cluster/free-port.ts';
import { startDashboard } from '../rig/dashboard-server.ts';

afterAll(closeBrowser);

const LIMIT_MS = 120_000;
/** The browser itself says so of every answer that is not a success. */
const isStatusLine = (text: string): boolean => text.startsWith('Failed to load resource');

/** Everything that the page shows, with what appears when one points at it. */
const shownText = (page: Page): Promise<string> =>
  page.evaluate(
    `document.title + document.body.innerText +
      [...document.querySelectorAll('[title], [aria-label]')].map((each) => each.title + each.ariaLabel).join('')`,
  );

test(
  'hostile text in names, ids, errors and results stays text in every view',
  async () => {
    const server = await startDashboard();
    const evil = '"><img src=x onerror=alert(1)><script>alert(2)</script>javascript:alert(3)';
    // One turns the text behind it around, the other cannot be seen.
    const hidden = 'a\u202Egnp.exe\u200B';
    const stuck = await server.submit({
      name: hidden,
      labels: { team: hidden },
      tasks: [{ id: 'a', executor: hidden, placement: { capabilities: { gpu: hidden } } }],
    });
    const id = await server.submit({
      name: evil,
      idempotencyKey: evil.slice(0, 100),
      tasks: [
        { id: 'a', executor: 'echo', input: { [evil]: [evil, '\u202Egnp.exe'] } },
        {
          id: 'b',
          executor: 'http',
          input: { url: `javascript:${evil}` },
          retry: { maxAttempts: 1 },
        },
      ],
    });
    const { id: query } = await server.call<{ id: string }>('POST', 'queries', {
      sql: `select '${hidden}' as "${hidden}", '${evil}' as "<svg onload=alert(4)>", 9007199254740993 as big, 1.10::decimal(9,2) as exact`,
    });
    await Promise.all([server.ended(id), server.ended(query)]);
    const { page, complaints } = await openPage(server.url);
    for (const [hash, text] of [
      ['#/jobs', evil],
      [`#/jobs/${id}?task=a`, '1 attempt'],
      [`#/jobs/${id}?task=b`, '1 attempt'],
      [`#/jobs/${id}?tab=events`, 'job.failed'],
      [`#/jobs/${id}?tab=result`, 'task_failed'],
      [`#/queries/${query}`, '9007199254740993'],
      [`#/jobs/${stuck}?task=a`, 'Why it waits'],
      [`#/jobs/${stuck}?tab=graph`, 'a⟨202E⟩gnp.exe'],
      [`#/queries/${query}?tab=plan`, 'As text'],
      ['#/queries', 'a⟨202E⟩gnp.exe'],
      ['#/health', 'a⟨202E⟩gnp.exe'],
      ['#/nodes', 'slots in use'],
      ['#/events', 'job.failed'],
      [`#/${encodeURIComponent(evil)}`, 'There is nothing here'],
      [`#/jobs?q=${encodeURIComponent(evil)}`, 'Cannot read'],
    ] as const) {
      await page.goto(`${server.url}/${hash}`);
      await page.getByText(text).first().waitFor();
      expect(await shownText(page)).not.toMatch(/[\u202E\u200B]/);
    }
    await page.goto(`${server.url}/#/queries/${query}`);
    await page.getByText('1.10', { exact: true }).waitFor();
    expect(await page.locator('img, script:not([src]), svg[onload]').count()).toBe(0);
    expect(complaints).toEqual([]);
  },
  LIMIT_MS,
);

test(
  'a result of several megabytes is folded, and the page stays quick',
  async () => {
    const server = await startDashboard();
    // Each input may have 1 MiB: the job's result gathers five of them.
    const part = Array.from({ length: 18_000 }, (_, at) => ({ at, text: 'x'.repeat(20) }));
    const tasks = Array.from({ length: 5 }, (_, at) => ({
      id: `p${at}`,
      executor: 'echo',
      input: part,
    }));
    const output = Object.fromEntries(tasks.map((task) => [task.id, { $from: task.id }]));
    const id = await server.submit({ name: 'large', tasks, output });
    await server.ended(id);
    const { page, complaints } = await openPage(`${server.url}/#/jobs/${id}?tab=result`);
    await page
      .getByRole('button', { name: /18,000 items/ })
      .first()
      .click();
    await page.getByRole('button', { name: '17,900 more' }).waitFor();
    expect(await page.locator('.json li').count()).toBeLessThan(1_000);
    expect(complaints).toEqual([]);
  },
  LIMIT_MS,
);

/** A file with a token for each role that is needed here. */
function tokenFile(): { readonly tokens: string; readonly admin: string; readonly reader: string } {
  const folder = mkdtempSync(join(tmpdir(), 'dashboard-tokens-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const tokens = join(folder, 'tokens');
  const [admin, reader] = ['0123456789abcdef-admin', '0123456789abcdef-reader'];
  writeFileSync(tokens, `admin ${admin} ada\nread ${reader} bob\n`, { mode: 0o600 });
  return { tokens, admin, reader };
}

test(
  'a refusal that comes late does not sign out who has signed in since',
  async () => {
    const { tokens, admin } = tokenFile();
    const server = await startDashboard(['--token-file', tokens], admin);
    const { page } = await openPage(server.url);
    const late = deferred();
    const refused = deferred();
    await page.route('**/api/v1/leader', async (route) => {
      if (route.request().headers()['authorization'] !== undefined) return route.continue();
      await late.promise;
      await route.continue();
      return refused.resolve();
    });
    await page.reload();
    await page.getByLabel('Token').fill(admin);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('button', { name: 'sign out' }).waitFor();
    const answer = page.waitForResponse((response) => response.status() === 401);
    late.resolve();
    await Promise.all([refused.promise, (await answer).finished()]);
    // Whoever is signed out is asked for a token before anything else is shown.
    await page.evaluate('new Promise(requestAnimationFrame)');
    expect(await page.getByLabel('Token').count()).toBe(0);
  },
  LIMIT_MS,
);

test(
  'a reader sees no buttons, a wrong token is asked for again, and an admin may cancel',
  async () => {
    const { tokens, admin, reader } = tokenFile();
    const server = await startDashboard(['--token-file', tokens], admin);
    const id = await server.submit({ name: 'kept', tasks: [{ id: 'a', executor: 'nobody' }] });
    const { page, complaints } = await openPage(`${server.url}/#/jobs/${id}`);
    await page.getByLabel('Token').fill('not-a-token-of-this-server');
    await page.getByRole('button', { name: 'Sign in' }).click();
    const wrong = { authorization: 'Bearer not-a-token-of-this-server' };
    const refusal = await fetch(`${server.url}/api/v1/me`, { headers: wrong });
    const { detail } = (await refusal.json()) as { detail: string };
    await page.getByText(detail).waitFor();
    await page.getByLabel('Token').fill(reader);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'kept' }).waitFor();
    await page.getByRole('banner').getByText('read', { exact: true }).waitFor();
    expect(await page.getByRole('button', { name: 'Cancel' }).count()).toBe(0);
    await page.getByRole('button', { name: 'sign out' }).click();
    await page.getByLabel('Token').fill(admin);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Cancel the job' }).click();
    await page.getByText(/^Cancelled/).waitFor();
    expect(page.url()).not.toContain(admin);
    expect(complaints.filter((text) => !isStatusLine(text))).toEqual([]);
  },
  LIMIT_MS,
);

test(
  'what was read stays on the screen while the server is away, and the page comes back by itself',
  async () => {
    const port = String(await freePort());
    const server = await startDashboard(['--port', port]);
    const id = await server.submit({ name: 'before', tasks: [{ id: 'a', executor: 'echo' }] });
    await server.ended(id);
    const { page, complaints } = await openPage(server.url);
    await page.getByRole('link', { name: 'before' }).waitFor();
    await server.process.crash();
    await page.getByText('Server not reachable').waitFor();
    await page.getByRole('link', { name: 'before' }).waitFor();
    const again = await startDashboard(['--port', port, '--data', join(server.folder, 'data')]);
    await page.getByText('Server not reachable').waitFor({ state: 'detached' });
    await again.submit({ name: 'after', tasks: [{ id: 'a', executor: 'echo' }] });
    await page.getByRole('link', { name: 'after' }).waitFor();
    expect(complaints.filter((text) => !isStatusLine(text) && !/ERR_/.test(text))).toEqual([]);
  },
  LIMIT_MS,
);
