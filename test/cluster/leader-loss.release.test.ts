import { expect, test } from 'vitest';
import {
  expectOnce,
  expectRest,
  expectSoon,
  expectSucceeded,
  leaderRow,
  Load,
  PATIENT,
  terms,
  stage,
  takenFrom,
} from './stage.ts';

test("a dead leader's own worker is gone with it: its leases end at once, not after a TTL", async () => {
  const play = await stage({
    leaders: 0,
    // Only the proof that the leader is gone tells that its worker is gone as well.
    settings: { leaderTtlMs: 20_000, sessionTtlMs: 60_000, nodeDeadMs: 90_000 },
    workers: 0,
  });
  const { cluster, client } = play;
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
  await expectRest(play);
});

test('leader after leader: every leader term has the next epoch, and each acknowledged job is there', async () => {
  const play = await stage({ leaders: 2, workers: 2, slots: 4, settings: PATIENT });
  const { cluster, client } = play;
  const load = new Load(client, { jobs: 240 });
  for (const round of [1, 2, 3]) {
    await load.reached(round * 60);
    const leader = await expectSoon(() => cluster.leading());
    // At once after an answer: what was acknowledged is in the database, whatever the leader had in mind.
    const { id } = await client.submit({ tasks: [{ id: 'a', executor: 'note' }] });
    await leader.process.crash();
    expect(await play.sql`select count(*)::int from millrace.job where id = ${id}`).toEqual([
      { count: 1 },
    ]);
    expect(await takenFrom(play, leader)).toMatchObject({ epoch: round + 1 });
    await leader.start();
  }
  await expectSucceeded(play, await load.done);
  expectOnce(play);
  expect(await leaderRow(play)).toMatchObject({ epoch: 4 });
  expect((await terms(play)).map(({ epoch }) => epoch)).toEqual([1, 2, 3, 4]);
  await expectRest(play);
});
