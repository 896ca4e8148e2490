import { writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { deleteSchedule, firings, firingsOf, putSchedule } from './firings.ts';
import {
  expectAllEnded,
  LONG_SESSIONS,
  startTestCluster,
  tablesFollow,
  takenFrom,
} from '../rig/cluster/test-cluster.ts';
import { expectSoon } from '../rig/until.ts';
import type { TestCluster } from '../rig/cluster/test-cluster.ts';

const EVERY_MS = 200;
const MINUTE_MS = 60_000;
const noting = { name: 'tick', tasks: [{ id: 'a', executor: 'note' }] };

/** Resolves when the schedule's jobs have begun so many times. */
async function begun({ cluster }: TestCluster, count: number): Promise<void> {
  await cluster.effects.wait({ what: 'begin' }, count, 60_000);
}

describe('after an outage of every node', () => {
  test('missed times are dropped, run once, or run one by one', async () => {
    const fixture = await startTestCluster({ leaders: 1, workers: 1, settings: LONG_SESSIONS });
    const { cluster, client, database, sql } = fixture;
    const timing = { everyMs: 10 * MINUTE_MS };
    const nextAt = new Map<string, number>();
    for (const misfire of ['skip', 'once', 'all']) {
      const made = await putSchedule(client, misfire, { timing, misfire, document: noting });
      nextAt.set(misfire, Date.parse(made.nextAt ?? ''));
    }
    const nodes = [...cluster.workers, ...cluster.nodes];
    await Promise.all(nodes.map((node) => node.process.crash()));
    // An hour and a minute go by: six times, the last of them over a minute ago.
    const passedMs = 61 * MINUTE_MS + 5_000;
    await sql`update millrace.schedule set next_at = next_at - ${passedMs} * interval '1 ms'`;
    for (const node of nodes.toReversed()) await node.start();
    await begun(fixture, 7);
    await expectAllEnded(fixture);
    const fired = await firings(database);
    const times = (schedule: string): number[] | undefined =>
      fired.get(schedule)?.fired.map(({ at }) => at - (nextAt.get(schedule) ?? 0) + passedMs);
    const steps = [0, 1, 2, 3, 4, 5].map((step) => step * timing.everyMs);
    expect(fired.get('skip')).toEqual({ fired: [], missed: 6 });
    expect([times('once'), fired.get('once')?.missed]).toEqual([steps.slice(-1), 5]);
    expect([times('all'), fired.get('all')?.missed]).toEqual([steps, 0]);
    const rows = await sql`select id, next_at from millrace.schedule order by id`;
    for (const { id, next_at: next } of rows) {
      const expected = (nextAt.get(id as string) ?? 0) - passedMs + 6 * timing.everyMs;
      expect((next as Date).getTime()).toBe(expected);
    }
  });

  test('a single time that has passed runs late, unless it is to be dropped', async () => {
    const fixture = await startTestCluster({ leaders: 1, workers: 1 });
    const { client, database } = fixture;
    const at = '2020-02-29T12:00:00.000Z';
    const once = { timing: { at }, document: noting };
    await putSchedule(client, 'late', once);
    await begun(fixture, 1);
    const dropped = { ...once, misfire: 'skip' };
    await putSchedule(client, 'dropped', dropped);
    // Whoever deploys again puts again: what has fired or was dropped stays so.
    await putSchedule(client, 'late', once);
    const seen = await expectSoon(async () => {
      const again = await putSchedule(client, 'dropped', dropped);
      expect(again.nextAt).toBeNull();
      return again;
    });
    expect(seen).toMatchObject({ upcoming: [], lastJob: null });
    await expectAllEnded(fixture);
    const { fired, missed } = await firingsOf(database, 'late');
    expect([fired.map((each) => each.at), missed]).toEqual([[Date.parse(at)], 0]);
    expect(await firingsOf(database, 'dropped')).toEqual({ fired: [], missed: 1 });
  });
});

describe('while the last job runs, and its leader dies', () => {
  /** One job stands until the file is there; those after it end at once. */
  async function standing(overlap: string): Promise<{ fixture: TestCluster; open: () => void }> {
    const fixture = await startTestCluster({
      leaders: 2,
      workers: 1,
      slots: 4,
      settings: LONG_SESSIONS,
    });
    const { cluster, client, database } = fixture;
    const file = cluster.file('go');
    const task = { id: 'a', executor: 'waitForFile', input: { file } };
    const timing = { everyMs: EVERY_MS };
    await putSchedule(client, 's', { timing, overlap, document: { tasks: [task] } });
    await begun(fixture, 1);
    const leader = await expectSoon(() => cluster.leading());
    await leader.process.crash();
    await takenFrom(fixture, leader);
    await leader.start();
    // Long enough under the new leader that the next times have come.
    await expectSoon(async () => {
      const [row] = await fixture.sql`
        select extract(epoch from clock_timestamp() - max(last_at)) * 1000 as ms
        from millrace.schedule`;
      expect(Number(row?.['ms'])).toBeGreaterThan(5 * EVERY_MS);
    });
    expect((await firingsOf(database, 's')).fired).toHaveLength(1);
    return { fixture, open: () => writeFileSync(file, '') };
  }

  /** By what the handlers wrote: one began after the other had ended. */
  function expectOneByOne({ cluster }: TestCluster): void {
    const whats = cluster.effects.all().map(({ what }) => what);
    expect(whats).toEqual(whats.map((_, at) => (at % 2 === 0 ? 'begin' : 'end')));
  }

  test('skip omits times and continues with the next', async () => {
    const { fixture, open } = await standing('skip');
    expect((await firingsOf(fixture.database, 's')).missed).toBeGreaterThan(0);
    open();
    await begun(fixture, 4);
    await deleteSchedule(fixture.client, 's');
    await expectAllEnded(fixture);
    expectOneByOne(fixture);
  });

  test('queue leaves nothing out and runs one after the other', async () => {
    const { fixture, open } = await standing('queue');
    open();
    await begun(fixture, 8);
    await deleteSchedule(fixture.client, 's');
    await expectAllEnded(fixture);
    expectOneByOne(fixture);
    const { fired, missed } = await firingsOf(fixture.database, 's');
    const first = fired[0]?.at ?? 0;
    expect(fired.map(({ at }) => at)).toEqual(fired.map((_, index) => first + index * EVERY_MS));
    expect(missed).toBe(0);
  });

  test('cancel stops it and starts the next', async () => {
    const fixture = await startTestCluster({ leaders: 1, workers: 1, slots: 4 });
    const { cluster, client, sql } = fixture;
    const document = { tasks: [{ id: 'a', executor: 'hang' }] };
    await putSchedule(client, 's', { timing: { everyMs: 1_000 }, overlap: 'cancel', document });
    await begun(fixture, 3);
    await deleteSchedule(client, 's');
    await tablesFollow(sql);
    const [last] = await sql`select id from millrace.job order by no desc limit 1`;
    await client.cancel(last?.['id'] as string);
    await expectAllEnded(fixture);
    const ended = await sql`select state, error_message from millrace.job order by no`;
    const replaced = { state: 4, error_message: 'schedule s has started its next run' };
    expect(ended.length).toBeGreaterThanOrEqual(3);
    expect([...ended].slice(0, -1)).toEqual(ended.slice(1).map(() => replaced));
    expect(cluster.effects.all({ what: 'aborted' }).length).toBeGreaterThanOrEqual(3);
  });
});
