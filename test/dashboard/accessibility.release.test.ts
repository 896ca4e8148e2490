/** Every view, light and dark, wide and narrow, held to the rules of axe. */
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { afterAll, expect, test } from 'vitest';
import { closeBrowser, openPage } from '../rig/browser.ts';
import { startDashboard, type DashboardServer } from '../rig/dashboard-server.ts';

afterAll(closeBrowser);

interface Violation {
  readonly id: string;
  readonly nodes: readonly {
    readonly target: readonly unknown[];
    readonly failureSummary?: string;
  }[];
}

async function violations(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe.source);
  const found = (await page.evaluate(
    'axe.run(document).then(({ violations }) => violations)',
  )) as readonly Violation[];
  return found.flatMap(({ id, nodes }) =>
    nodes
      .slice(0, 3)
      .map(
        ({ target, failureSummary = '' }) =>
          `${id} at ${JSON.stringify(target)}: ${failureSummary.split('\n').at(-1)?.trim()}`,
      ),
  );
}

async function withWork(server: DashboardServer): Promise<Readonly<Record<string, string>>> {
  const done = await server.submit({
    name: 'done',
    tasks: [
      { id: 'a', executor: 'echo', input: { n: 1 } },
      { id: 'b', executor: 'echo', dependsOn: ['a'] },
    ],
  });
  const stuck = await server.submit({
    name: 'stuck',
    tasks: [{ id: 'train', executor: 'echo', placement: { capabilities: { gpu: 'nvidia' } } }],
  });
  await server.call('PUT', 'schedules/nightly', {
    timing: { cron: '0 2 * * 1-5' },
    document: { name: 'nightly', tasks: [{ id: 'a', executor: 'echo' }] },
  });
  const { id: query } = await server.call<{ id: string }>('POST', 'queries', {
    sql: 'select range as n from range(1000)',
  });
  await Promise.all([server.ended(done), server.ended(query)]);
  return { done, stuck, query };
}

test('every view has names, roles and contrast that everybody can use', async () => {
  const server = await startDashboard();
  const { done, stuck, query } = await withWork(server);
  const views: readonly (readonly [string, string])[] = [
    ['#/jobs', 'stuck'],
    ['#/jobs?q=state:nonsense', 'is not a state'],
    [`#/jobs/${done}?task=a`, 'Succeeded in'],
    [`#/jobs/${done}?tab=graph`, 'Find a task'],
    [`#/jobs/${done}?tab=events`, 'job.succeeded'],
    [`#/jobs/${done}?tab=logs`, 'Nothing was printed'],
    [`#/jobs/${done}?tab=result`, 'Download'],
    [`#/jobs/${stuck}?task=train`, 'Why it waits'],
    ['#/queries', 'Recent'],
    [`#/queries/${query}`, '1,000 rows'],
    [`#/queries/${query}?tab=stages`, 'rows in'],
    [`#/queries/${query}?tab=plan`, 'As text'],
    ['#/nodes', 'slots in use'],
    ['#/schedules', 'weekdays at 02:00'],
    ['#/events', 'job.created'],
    ['#/health', 'Longest unplaceable'],
  ];
  const faults: Record<string, readonly string[]> = {};
  for (const [colorScheme, width] of [
    ['light', 1280],
    ['dark', 390],
  ] as const) {
    for (const [hash, text] of views) {
      const { page, complaints } = await openPage(`${server.url}/${hash}`, {
        colorScheme,
        viewport: { width, height: 800 },
        reducedMotion: 'reduce',
      });
      const isThere = hash.includes('tab=graph')
        ? page.getByPlaceholder(text)
        : page.getByText(text).first();
      await isThere.waitFor({ state: 'attached' });
      // Asked for less motion, nothing moves.
      const moving = await page.evaluate<number>('document.getAnimations().length');
      const found = [
        ...complaints,
        ...(await violations(page)),
        ...(moving > 0 ? [`${moving} animations`] : []),
      ];
      if (found.length > 0) faults[`${colorScheme} ${hash}`] = found;
      await page.context().close();
    }
  }
  expect(faults).toEqual({});
}, 240_000);
