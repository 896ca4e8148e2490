import { writeFileSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { connect } from '../../src/client/millrace.ts';
import { RefusedCall } from '../rig/cluster/client.ts';
import { changeSchedule, deleteSchedule, firingsOf, putSchedule } from './firings.ts';
import type { ScheduleSeen } from './firings.ts';
import { millrace } from '../rig/cluster/command.ts';
import { expectAllEnded, startTestCluster } from '../rig/cluster/test-cluster.ts';
import { expectSoon } from '../rig/until.ts';
import type { TestCluster } from '../rig/cluster/test-cluster.ts';

const DAY_MS = 24 * 3_600_000;
const noting = { name: 'nightly', tasks: [{ id: 'a', executor: 'note' }] };

async function listed(url: string | null): Promise<readonly ScheduleSeen[]> {
  const answer = await fetch(`${url}/api/v1/schedules`);
  return ((await answer.json()) as { schedules: readonly ScheduleSeen[] }).schedules;
}

async function refusal(body: object, { client }: TestCluster): Promise<unknown> {
  try {
    return await putSchedule(client, 'bad', body);
  } catch (error) {
    if (error instanceof RefusedCall) return error.problem;
    throw error;
  }
}

test('the next runs are the same in the API of every node, on the command line and in the library', async () => {
  const fixture = await startTestCluster({ leaders: 1, workers: 1 });
  const { cluster, client } = fixture;
  const leader = cluster.node('n-1');
  const observer = await cluster.startNode({ role: 'observer', database: null });
  const timing = { cron: '30 2 * * *', zone: 'Europe/Berlin' };
  const { upcoming } = await putSchedule(client, 'nightly', { timing, document: noting });
  expect(upcoming).toHaveLength(5);
  for (const [at, time] of upcoming.entries()) {
    const wall = new Date(time).toLocaleTimeString('sv-SE', { timeZone: timing.zone });
    // On the night without 02:30 it is the first moment after the gap.
    expect(['02:30:00', '03:00:00']).toContain(wall);
    const before = upcoming[at - 1];
    if (before === undefined) continue;
    expect((Date.parse(time) - Date.parse(before)) / DAY_MS).toBeCloseTo(1, 0);
  }
  await expectSoon(async () => {
    expect(await listed(observer.plan.url)).toMatchObject([{ id: 'nightly', upcoming }]);
  });
  const server = ['--server', leader.plan.url ?? ''];
  const listing = await millrace(['schedules', ...server, '--json']);
  expect(JSON.parse(listing.out)).toMatchObject({ schedules: [{ id: 'nightly', upcoming }] });
  const shown = await millrace(['schedules', ...server]);
  for (const time of upcoming.slice(0, 3)) expect(shown.out).toContain(time);
  const library = connect(leader.plan.url ?? '');
  onTestFinished(() => library.close());
  expect(await library.schedules.list()).toMatchObject([{ id: 'nightly', upcoming }]);
  await expectAllEnded(fixture);
});

test('a schedule is paused, resumed, triggered and deleted, and what it started stays', async () => {
  const fixture = await startTestCluster({ leaders: 1, workers: 1 });
  const { cluster, client, database } = fixture;
  const timing = { everyMs: DAY_MS };
  const { nextAt } = await putSchedule(client, 's', { timing, document: noting });
  expect(await changeSchedule(client, 's', 'pause')).toMatchObject({ paused: true, upcoming: [] });
  const { lastJob } = await changeSchedule(client, 's', 'trigger');
  const job = await client.waitForJob(lastJob ?? '');
  expect(job).toMatchObject({ state: 'succeeded', name: 'nightly', scheduleId: 's' });
  // A pause outlives the leader that recorded it, and so does the next time.
  await cluster.node('n-1').process.crash();
  await cluster.node('n-1').start();
  expect(await listed(cluster.node('n-1').plan.url)).toMatchObject([{ id: 's', paused: true }]);
  const resumed = await changeSchedule(client, 's', 'resume');
  expect(resumed).toMatchObject({ paused: false, nextAt });
  expect(resumed.upcoming).toHaveLength(5);
  await deleteSchedule(client, 's');
  expect(await listed(cluster.node('n-1').plan.url)).toEqual([]);
  await expect(changeSchedule(client, 's', 'trigger')).rejects.toMatchObject({ status: 404 });
  expect(await client.job(job.id)).toMatchObject({ state: 'succeeded' });
  await expectAllEnded(fixture);
  const { fired, missed } = await firingsOf(database, 's');
  expect([fired.map(({ byHand }) => byHand), missed]).toEqual([[true], 0]);
});

test('a task knows for which time it was started, whichever attempt it is', async () => {
  const fixture = await startTestCluster({ leaders: 0, workers: 0 });
  const { cluster, client } = fixture;
  const file = cluster.file('when.mjs');
  writeFileSync(
    file,
    `export const when = {
      kind: 'millrace.task',
      name: 'when',
      run(_, { attempt, scheduledAt }) {
        if (attempt === 1) throw new Error('the first one fails');
        return { at: scheduledAt, isDate: scheduledAt instanceof Date };
      },
    };`,
  );
  await cluster.startNode({ slots: 2, modules: [file] });
  const document = { tasks: [{ id: 'a', executor: 'when', retry: { backoffMs: 1 } }] };
  const at = '2020-02-29T12:00:00.000Z';
  const seen = await expectSoon(async () => {
    const made = await putSchedule(client, 'leap', { timing: { at }, document });
    expect(made.lastJob).not.toBeNull();
    return made;
  });
  const job = await client.waitForJob(seen.lastJob ?? '');
  expect(job).toMatchObject({
    scheduleId: 'leap',
    scheduledAt: at,
    tasks: [{ state: 'succeeded', attempt: 2, result: { at, isDate: true } }],
  });
  // By hand it is the time at which somebody did.
  const { lastJob } = await changeSchedule(client, 'leap', 'trigger');
  const again = (await client.waitForJob(lastJob ?? '')) as typeof job & {
    readonly scheduledAt: string;
    readonly createdAt: string;
  };
  expect(again.scheduledAt).toBe(again.createdAt);
  const alone = await client.submit(document);
  expect(await client.waitForJob(alone.id)).toMatchObject({
    scheduledAt: null,
    tasks: [{ result: { at: null, isDate: false } }],
  });
  await expectAllEnded(fixture);
});

test('what cannot be a schedule is refused with the field and what to do, and stores nothing', async () => {
  const fixture = await startTestCluster({ leaders: 1, workers: 1 });
  const document = noting;
  for (const [body, path, words] of [
    [{ document }, '/timing', /cron.*everyMs.*at/],
    [{ timing: { cron: '61 * * * *' }, document }, '/timing/cron', /minute/i],
    [{ timing: { cron: '0 0 31 2 *' }, document }, '/timing/cron', /never matches/],
    [{ timing: { cron: '0 2 * * *', zone: 'Berlin' }, document }, '/timing/zone', /Europe\/Berlin/],
    [{ timing: { everyMs: 10 }, document }, '/timing/everyMs', /100/],
    [{ timing: { at: '2026-02-30T00:00:00Z' }, document }, '/timing/at', /point in time/],
    [{ timing: { everyMs: 1_000, cron: '* * * * *' }, document }, '/timing/everyMs', /no field/],
    [
      { timing: { everyMs: 1_000 }, misfire: 'never', document },
      '/misfire',
      /'skip', 'once', 'all'/,
    ],
    [{ timing: { everyMs: 1_000 } }, '/document', /the job to submit/],
    [
      { timing: { everyMs: 1_000 }, document: { tasks: [{ id: 'a' }] } },
      '/document/tasks/0/executor',
      /missing/,
    ],
  ] as const) {
    const problem = await refusal(body, fixture);
    expect(problem).toMatchObject({ status: 400, code: 'bad_input', path });
    expect(JSON.stringify(problem)).toMatch(words);
  }
  expect(await listed(fixture.cluster.node('n-1').plan.url)).toEqual([]);
  await expectAllEnded(fixture);
});
