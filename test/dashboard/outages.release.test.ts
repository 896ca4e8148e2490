/** The dashboard while parts of a real cluster are away. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { closeBrowser, openPage } from '../rig/browser.ts';
import type { ClusterNode } from '../rig/cluster/cluster-node.ts';
import { freePort } from '../rig/cluster/free-port.ts';
import { Proxy } from '../rig/cluster/proxy.ts';
import { startTestCluster, takenFrom } from '../rig/cluster/test-cluster.ts';
import { startDashboard } from '../rig/dashboard-server.ts';
import { until } from '../rig/until.ts';

afterAll(closeBrowser);

const LIMIT_MS = 180_000;
const WAIT = { timeout: 60_000 };

/** The browser says so of each answer that is not a success, and of each one that never came. */
const isExpected = (text: string): boolean =>
  text.startsWith('Failed to load resource') || text.includes('ERR_');

const shown = (page: Page, text: string): Promise<void> =>
  page.getByText(text).first().waitFor(WAIT);
const gone = (page: Page, text: string): Promise<void> =>
  page
    .getByText(text)
    .first()
    .waitFor({ state: 'detached', ...WAIT });

async function post(node: ClusterNode, path: string, body: unknown): Promise<{ id: string }> {
  const response = await fetch(new URL(path, node.plan.url ?? ''), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect(response.ok).toBe(true);
  return (await response.json()) as { id: string };
}

test(
  'a job that retention removes, no database and no leader are said, above what was read last',
  async () => {
    let wire: Proxy | null = null;
    const { cluster, database } = await startTestCluster({
      settings: { jobRetentionMs: 1_000, eventRetentionMs: 1_000, pruneEveryMs: 1_000 },
      route: async (url) => {
        const { hostname, port } = new URL(url);
        wire = await Proxy.start({ host: hostname, port: Number(port) });
        return wire.through(url);
      },
    });
    const leader = cluster.node('n-1');
    const observer = await cluster.startNode({ role: 'observer', id: 'o-1', database });
    const { id } = await post(leader, '/api/v1/jobs', {
      name: 'soon gone',
      tasks: [{ id: 'a', executor: 'nobody' }],
    });
    const led = await openPage(`${leader.plan.url}/#/jobs/nothing`);
    await shown(led.page, 'There is no such job');
    await led.page.goto(`${leader.plan.url}/#/jobs/${id}`);
    await led.page.getByRole('heading', { name: 'soon gone' }).waitFor(WAIT);
    await post(leader, `/api/v1/jobs/${id}/cancel`, {});
    await shown(led.page, 'This job is gone');
    await led.page.getByRole('heading', { name: 'soon gone' }).waitFor();

    const kept = await post(leader, '/api/v1/jobs', {
      name: 'kept',
      tasks: [{ id: 'a', executor: 'nobody' }],
    });
    await led.page.goto(`${leader.plan.url}/#/jobs/${kept.id}`);
    await led.page.getByRole('heading', { name: 'kept' }).waitFor(WAIT);
    const observed = await openPage(`${observer.plan.url}/#/jobs`);
    await observed.page.getByRole('link', { name: 'kept' }).waitFor(WAIT);
    await (wire as Proxy | null)?.refuse();
    await shown(led.page, 'No database');
    await shown(observed.page, 'No leader');
    await led.page.getByRole('heading', { name: 'kept' }).waitFor();
    await observed.page.getByRole('link', { name: 'kept' }).waitFor();
    await (wire as Proxy | null)?.heal();
    await gone(led.page, 'No database');
    await gone(observed.page, 'No leader');
    const complaints = [...led.complaints, ...observed.complaints];
    expect(complaints.filter((text) => !isExpected(text))).toEqual([]);
  },
  LIMIT_MS,
);

test(
  'a token that is not valid any more is asked for again, and the page goes on where it was',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'dashboard-tokens-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const tokens = join(folder, 'tokens');
    const [old, fresh] = ['0123456789abcdef-old', '0123456789abcdef-new'];
    writeFileSync(tokens, `admin ${old} ada\n`, { mode: 0o600 });
    const port = String(await freePort());
    const server = await startDashboard(['--port', port, '--token-file', tokens], old);
    const id = await server.submit({ name: 'guarded', tasks: [{ id: 'a', executor: 'nobody' }] });
    const { page, complaints } = await openPage(`${server.url}/#/jobs/${id}`);
    await page.getByLabel('Token').fill(old);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'guarded' }).waitFor(WAIT);
    await server.process.crash();
    writeFileSync(tokens, `admin ${fresh} ada\n`, { mode: 0o600 });
    const data = join(server.folder, 'data');
    await startDashboard(['--port', port, '--token-file', tokens, '--data', data], fresh);
    await page.getByRole('heading', { name: 'Sign in' }).waitFor(WAIT);
    await page.getByLabel('Token').fill(fresh);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'guarded' }).waitFor(WAIT);
    expect(page.url()).toContain(id);
    expect(complaints.filter((text) => !isExpected(text))).toEqual([]);
  },
  LIMIT_MS,
);

test(
  'a change of the leader leaves no gap: the page goes on from the last event that it has seen',
  async () => {
    const fixture = await startTestCluster({ leaders: 2, workers: 1 });
    const { cluster } = fixture;
    const [leader, follower] = [cluster.node('n-1'), cluster.node('n-2')];
    const { url } = follower.plan;
    const work = (name: string): object => ({ name, tasks: [{ id: 'a', executor: 'echo' }] });
    await post(leader, '/api/v1/jobs', work('before'));
    const list = await openPage(`${url}/#/jobs`);
    const log = await openPage(`${url}/#/events?after=0`);
    await list.page.getByRole('link', { name: 'before' }).waitFor(WAIT);
    await leader.process.crash();
    expect(await takenFrom(fixture, leader)).toMatchObject({ nodeId: 'n-2' });
    // It leads by the database; it serves when it has loaded what there is.
    const isServing = async (): Promise<boolean> => (await fetch(`${url}/readyz?leader=1`)).ok;
    await until(isServing, 'the new leader to serve');
    const { id } = await post(follower, '/api/v1/jobs', work('after'));
    await list.page.getByRole('link', { name: 'after' }).waitFor(WAIT);
    await list.page.getByRole('link', { name: 'before' }).waitFor();
    await log.page.getByLabel('Filter events').fill(`${id} job.succeeded`);
    await log.page.getByRole('row', { name: /job\.succeeded/ }).waitFor(WAIT);
    await log.page.getByLabel('Filter events').fill('');
    const numbers = await log.page
      .locator('.events .row:not(.head) > :first-child')
      .allTextContents();
    const seen = numbers.map((text) => Number(text.replaceAll(',', '')));
    expect(seen).toEqual(seen.map((_, at) => (seen[0] ?? 0) - at));
    const complaints = [...list.complaints, ...log.complaints];
    expect(complaints.filter((text) => !isExpected(text))).toEqual([]);
  },
  LIMIT_MS,
);
