import { expect, test } from 'vitest';
import {
  expectOnce,
  expectAllEnded,
  expectSucceeded,
  leaderRow,
  LONG_TTLS,
  terms,
  startTestCluster,
  takenFrom,
  tablesFollow,
} from '../rig/cluster/test-cluster.ts';
import { expectSoon } from '../rig/until.ts';
import { Load } from '../rig/cluster/load.ts';

test("a dead leader's own worker is gone with it: its leases end at once, not after a TTL", async () => {
  const fixture = await startTestCluster({
    leaders: 0,
    // Only the proof that the leader is gone tells that its worker is gone as well.
    settings: { leaderTtlMs: 20_000, sessionTtlMs: 60_000, nodeDeadMs: 90_000 },
    workers: 0,
  });
  const { cluster, client } = fixture;
  const first = await cluster.startNode({ slots: 1 });
  await cluster.startNode();
  const { id } = await client.submit({ tasks: [{ id: 'a', executor: 'hang' }] });
  await cluster.effects.wait({ job: id, what: 'begin' });
  await first.process.crash();
  await cluster.startWorker({ slots: 1 });
  // Given out anew long before the session's minute is over.
  const [, second] = await cluster.effects.wait({ job: id, what: 'begin' }, 2);
  expect(second).toMatchObject({ attempt: 2 });
  expect(await client.cancel(id)).toMatchObject({ id });
  expect(await client.waitForJob(id)).toMatchObject({ state: 'cancelled' });
  await expectAllEnded(fixture);
});

test('leader after leader: every leader term has the next epoch, and each acknowledged job is there', async () => {
  const fixture = await startTestCluster({ leaders: 2, workers: 2, slots: 4, settings: LONG_TTLS });
  const { cluster, client } = fixture;
  const load = new Load(client, { jobs: 240 });
  for (const round of [1, 2, 3]) {
    await load.reached(round * 60);
    const leader = await expectSoon(() => cluster.leading());
    // At once after an answer: what was acknowledged is in the database, whatever the leader had in mind.
    const { id } = await client.submit({ tasks: [{ id: 'a', executor: 'note' }] });
    await leader.process.crash();
    await tablesFollow(fixture.sql);
    expect(await fixture.sql`select count(*)::int from millrace.job where id = ${id}`).toEqual([
      { count: 1 },
    ]);
    expect(await takenFrom(fixture, leader)).toMatchObject({ epoch: round + 1 });
    await leader.start();
  }
  await expectSucceeded(fixture, await load.done);
  expectOnce(fixture);
  expect(await leaderRow(fixture)).toMatchObject({ epoch: 4 });
  expect((await terms(fixture)).map(({ epoch }) => epoch)).toEqual([1, 2, 3, 4]);
  await expectAllEnded(fixture);
});
