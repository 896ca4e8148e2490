import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { Proxy, targetOf } from '../rig/cluster/proxy.ts';
import type { Direction } from '../rig/cluster/relay.ts';
import {
  expectOnce,
  expectAllEnded,
  expectSucceeded,
  leaderRow,
  LONG_SESSIONS,
  startTestCluster,
  takenFrom,
} from '../rig/cluster/test-cluster.ts';
import { expectSoon } from '../rig/until.ts';
import { Load } from '../rig/cluster/load.ts';
import type { TestCluster } from '../rig/cluster/test-cluster.ts';

interface Partitioned {
  readonly fixture: TestCluster;
  /** Between the first node, which leads, and the database. */
  readonly wire: Proxy;
}

async function partitioned(nodes: 1 | 2): Promise<Partitioned> {
  const fixture = await startTestCluster({
    leaders: 0,
    workers: 0,
    slots: 4,
    settings: LONG_SESSIONS,
  });
  const { cluster, database } = fixture;
  const wire = await Proxy.start(targetOf(database));
  await cluster.startNode({ database: wire.through(database) });
  if (nodes === 2) await cluster.startNode();
  await Promise.all(['w-1', 'w-2'].map((id) => cluster.startWorker({ id })));
  return { fixture, wire };
}

test.each<Direction | 'both'>(['both', 'answers', 'requests'])(
  'silence between the only leader and its database (%s) passes, and it leads on',
  async (direction) => {
    const { fixture, wire } = await partitioned(1);
    const load = new Load(fixture.client, { jobs: 200 });
    await load.reached(60);
    const { epoch } = await leaderRow(fixture);
    wire.drop(direction);
    // Beyond its time, by the database's clock.
    await expectSoon(async () => {
      const [row] = await fixture.sql`select expires_at < now() as is_over from millrace.leader`;
      expect(row).toEqual({ is_over: true });
    });
    await wire.heal();
    await expectSucceeded(fixture, await load.done);
    expect(await leaderRow(fixture)).toMatchObject({ nodeId: 'n-1' });
    expect((await leaderRow(fixture)).epoch).toBeGreaterThan(epoch);
    expectOnce(fixture);
    await expectAllEnded(fixture);
  },
);

test('a leader that is cut off from the database for good is replaced, and stops answering', async () => {
  const { fixture, wire } = await partitioned(2);
  const { cluster, client } = fixture;
  const first = cluster.node('n-1');
  const file = cluster.file('go');
  const { id } = await client.submit({
    tasks: [{ id: 'a', executor: 'waitForFile', input: { file } }],
  });
  await cluster.effects.wait({ job: id, what: 'begin' });
  const load = new Load(client, { jobs: 200 });
  await load.reached(60);
  wire.drop();
  expect(await takenFrom(fixture, first)).toEqual({ nodeId: 'n-2', epoch: 2 });
  // It cannot know who leads, but it knows that it does not.
  await expectSoon(async () => {
    const answer = await fetch(`${first.plan.url}/api/v1/jobs`, {
      method: 'POST',
      body: JSON.stringify({ tasks: [{ id: 'a', executor: 'note' }] }),
      headers: { 'content-type': 'application/json' },
      signal: AbortSignal.timeout(5_000),
    });
    expect(answer.status).toBe(503);
    expect(await answer.json()).toMatchObject({ code: 'not_leader' });
  });
  expect((await fetch(`${first.plan.url}/readyz?leader=1`)).status).toBe(503);
  writeFileSync(file, '');
  await expectSucceeded(fixture, [id, ...(await load.done)]);
  expectOnce(fixture);
  expect(await leaderRow(fixture)).toEqual({ nodeId: 'n-2', epoch: 2 });
  await first.process.crash();
  await expectAllEnded(fixture);
});

test('a leader that comes back after another took over follows it', async () => {
  const { fixture, wire } = await partitioned(2);
  const first = fixture.cluster.node('n-1');
  const load = new Load(fixture.client, { jobs: 200 });
  await load.reached(60);
  wire.drop();
  await takenFrom(fixture, first);
  await load.reached(120);
  await wire.heal();
  await expectSoon(async () => {
    const answer = await fetch(`${first.plan.url}/api/v1/leader`);
    expect(await answer.json()).toMatchObject({ nodeId: 'n-2', epoch: 2 });
  });
  await expectSucceeded(fixture, await load.done);
  expectOnce(fixture);
  expect(await leaderRow(fixture)).toEqual({ nodeId: 'n-2', epoch: 2 });
  await expectAllEnded(fixture);
});
