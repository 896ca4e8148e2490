import { describe, expect, test } from 'vitest';
import type { ClusterNode } from '../rig/cluster/cluster-node.ts';
import { changeSchedule, firingsOf, putSchedule } from './firings.ts';
import {
  expectOnce,
  expectAllEnded,
  LONG_SESSIONS,
  terms,
  startTestCluster,
  takenFrom,
} from '../rig/cluster/test-cluster.ts';
import { expectSoon } from '../rig/until.ts';
import type { TestCluster } from '../rig/cluster/test-cluster.ts';

const EVERY_MS = 200;
const noting = { name: 'tick', tasks: [{ id: 'a', executor: 'note' }] };

/** Resolves when the schedule's jobs have begun so many times. */
async function begun({ cluster }: TestCluster, count: number): Promise<void> {
  await cluster.effects.wait({ what: 'begin' }, count, 60_000);
}

describe('leaders that die and stand still in turn', () => {
  test('fire every time of a schedule, each once', async () => {
    // Nothing is left out, however long a busy machine takes for a fail-over.
    const settings = { ...LONG_SESSIONS, catchUpMax: 10_000 };
    const fixture = await startTestCluster({ leaders: 3, workers: 1, slots: 4, settings });
    const { cluster, client, database } = fixture;
    const timing = { everyMs: EVERY_MS };
    const made = await putSchedule(client, 'beat', { timing, overlap: 'queue', document: noting });
    const faults = ['kill', 'pause', 'kill', 'pause', 'kill'] as const;
    for (const [round, fault] of faults.entries()) {
      await begun(fixture, (round + 1) * 8);
      const leader = await expectSoon(() => cluster.leading());
      await (fault === 'kill' ? leader.process.crash() : leader.process.pause());
      expect(await takenFrom(fixture, leader)).toMatchObject({ epoch: round + 2 });
      // The next one has fired before the old one comes back.
      await begun(fixture, cluster.effects.all({ what: 'begin' }).length + 4);
      await comeBack(leader, fault);
    }
    await changeSchedule(client, 'beat', 'pause');
    expectOnce(fixture);
    expect(await terms(fixture)).toHaveLength(faults.length + 1);
    await expectAllEnded(fixture);
    const { fired, missed } = await firingsOf(database, 'beat');
    const first = Date.parse(made.nextAt ?? '');
    expect(missed).toBe(0);
    expect(fired.map(({ at }) => at)).toEqual(fired.map((_, index) => first + index * EVERY_MS));
    expect(fired.length).toBeGreaterThanOrEqual(faults.length * 8);
    // Each is a job, and each job was executed.
    expect(new Set(fired.map(({ jobNo }) => jobNo)).size).toBe(fired.length);
    expect(cluster.effects.all({ what: 'end' })).toHaveLength(fired.length);
  });

  test('count what they leave out, when nothing may wait', async () => {
    const fixture = await startTestCluster({
      leaders: 2,
      workers: 1,
      slots: 4,
      settings: LONG_SESSIONS,
    });
    const { cluster, client, database } = fixture;
    const timing = { everyMs: EVERY_MS };
    const made = await putSchedule(client, 'beat', { timing, overlap: 'skip', document: noting });
    for (const fault of ['pause', 'kill'] as const) {
      await begun(fixture, cluster.effects.all({ what: 'begin' }).length + 5);
      const leader = await expectSoon(() => cluster.leading());
      await (fault === 'kill' ? leader.process.crash() : leader.process.pause());
      await takenFrom(fixture, leader);
      await comeBack(leader, fault);
    }
    await begun(fixture, cluster.effects.all({ what: 'begin' }).length + 5);
    await changeSchedule(client, 'beat', 'pause');
    await expectAllEnded(fixture);
    const { fired, missed } = await firingsOf(database, 'beat');
    // Some times have passed while nobody led, and every time was either fired or counted.
    expect(missed).toBeGreaterThan(0);
    const steps = fired.map(({ at }) => (at - Date.parse(made.nextAt ?? '')) / EVERY_MS);
    expect(steps.every((step) => Number.isInteger(step) && step >= 0)).toBe(true);
    expect(steps).toEqual([...new Set(steps)].toSorted((left, right) => left - right));
    const [row] = await fixture.sql`select next_at from millrace.schedule where id = 'beat'`;
    const reachedMs = Number(row?.['next_at']) - Date.parse(made.nextAt ?? '');
    expect(fired.length + missed).toBe(reachedMs / EVERY_MS);
  });
});

async function comeBack(node: ClusterNode, fault: 'kill' | 'pause'): Promise<void> {
  if (fault === 'kill') return node.start();
  node.process.resume();
  await expectSoon(async () => {
    const answer = await fetch(`${node.plan.url}/readyz`);
    expect(answer.status).toBe(200);
  });
}
