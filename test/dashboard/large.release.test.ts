/** Ten thousand tasks in a job and a hundred thousand jobs in a list: the page stays small and quick. */
import type { Page } from 'playwright-core';
import { afterAll, expect, test } from 'vitest';
import { closeBrowser, openPage } from '../rig/browser.ts';
import { startDashboard } from '../rig/dashboard-server.ts';

afterAll(closeBrowser);

const TASKS = 10_000;
const JOBS = 100_000;
/** The height of a row, in pixels. */
const ROW = 44;
/** A list of documents may have this many. */
const PORTION = 1_000;
/** On a machine that is busy with other tests; a person notices a tenth of it. */
const BUSY_MS_MAX = 2_000;

/** From now on the page keeps the longest time for which it did not answer. */
const watchBusy = (page: Page): Promise<void> =>
  page.evaluate(`{
    window.busyMs = 0;
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) window.busyMs = Math.max(window.busyMs, duration);
    }).observe({ type: 'longtask' });
  }`);
const busyMs = (page: Page): Promise<number> => page.evaluate('window.busyMs');

test(`a job of ${TASKS} tasks is folded, searched, opened and drawn`, async () => {
  const server = await startDashboard();
  const parts = Array.from({ length: TASKS - 2 }, (_, at) => `part.${at}`);
  const id = await server.submit({
    name: 'wide',
    tasks: [
      { id: 'split', executor: 'echo' },
      ...parts.map((part) => ({ id: part, executor: 'echo', dependsOn: ['split'] })),
      { id: 'join', executor: 'echo', dependsOn: parts.slice(0, 100) },
    ],
  });
  const { page, complaints } = await openPage(`${server.url}/#/jobs/${id}`);
  await watchBusy(page);
  await page.getByRole('button', { name: '▸ part.*' }).waitFor();
  await server.ended(id);
  await page.getByText(/^Succeeded in/).waitFor();
  await page.getByRole('button', { name: '▸ part.*' }).click();
  await page.getByRole('button', { name: 'part.17', exact: true }).waitFor();
  expect(await page.locator('.lines .row').count()).toBeLessThan(120);
  await page.getByLabel('Search tasks').fill('part.9876');
  await page.getByRole('button', { name: 'part.9876', exact: true }).click();
  await page.getByRole('complementary', { name: 'Task part.9876' }).waitFor();
  await page.getByRole('link', { name: 'Graph' }).click();
  await page.getByRole('button', { name: /part\.\* 9998 of 9998 done/ }).waitFor();
  expect(await busyMs(page)).toBeLessThan(BUSY_MS_MAX);
  // On a phone the page is as long as it has to be; its lists are not.
  await page.setViewportSize({ width: 390, height: 844 });
  for (const [tab, list] of [
    ['events', '.events'],
    ['timeline', '.lines'],
  ] as const) {
    await page.goto(`${server.url}/#/jobs/${id}?tab=${tab}`);
    if (tab === 'timeline') await page.getByRole('button', { name: '▸ part.*' }).click();
    await page.locator(`${list} .row`).nth(20).waitFor();
    expect(await page.locator(`${list} .row`).count()).toBeLessThan(120);
  }
  expect(complaints).toEqual([]);
}, 240_000);

test(`a list of ${JOBS} jobs is counted, searched and read page after page`, async () => {
  const server = await startDashboard();
  for (let from = 0; from < JOBS; from += PORTION) {
    const documents = Array.from({ length: PORTION }, (_, at) => ({
      name: `job ${from + at}`,
      labels: { team: (from + at) % 1_000 === 0 ? 'few' : 'many' },
      tasks: [{ id: 'a', executor: 'nobody' }],
    }));
    await server.call('POST', 'jobs', documents);
  }
  const { page, complaints } = await openPage(server.url);
  await watchBusy(page);
  await page.getByRole('link', { name: `job ${JOBS - 1}`, exact: true }).waitFor();
  await page.getByRole('button', { name: '100,000 queued' }).waitFor();
  const list = page.getByRole('table', { name: 'Jobs' });
  // Near the end of each page the next one is read.
  for (const at of [80, 180, 280, 380, 480]) {
    await page.evaluate(`document.querySelector('.jobs').scrollTo(0, ${at * ROW})`);
    await page.getByRole('link', { name: `job ${JOBS - 1 - at - 22}`, exact: true }).waitFor();
  }
  expect(await list.getByRole('row').count()).toBeLessThan(80);
  await page.getByLabel('Search jobs').fill('label.team=few');
  await page.getByRole('link', { name: 'job 98000', exact: true }).waitFor();
  await page.getByLabel('Search jobs').fill('name:"job 42"');
  await page.getByRole('link', { name: 'job 42', exact: true }).waitFor();
  expect(await busyMs(page)).toBeLessThan(BUSY_MS_MAX);
  expect(complaints).toEqual([]);
}, 400_000);
