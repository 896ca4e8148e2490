import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import {
  LONG_SESSIONS,
  expectAllEnded,
  expectOnce,
  expectSucceeded,
  startTestCluster,
  takenFrom,
  terms,
} from '../rig/cluster/test-cluster.ts';
import { expectSoon } from '../rig/until.ts';
import { Load } from '../rig/cluster/load.ts';

test('a leader that was paused beyond its TTL has its writes refused, and follows', async () => {
  const fixture = await startTestCluster({
    leaders: 2,
    workers: 2,
    slots: 4,
    settings: LONG_SESSIONS,
  });
  const { cluster, client, sql } = fixture;
  const [first, second] = [cluster.node('n-1'), cluster.node('n-2')];
  const file = cluster.file('go');
  const { id } = await client.submit({
    tasks: [{ id: 'a', executor: 'waitForFile', input: { file } }],
  });
  await cluster.effects.wait({ job: id, what: 'begin' });
  const load = new Load(client, { jobs: 200 });
  await load.reached(50);
  // In the middle of its work: requests and commits are under way.
  first.process.pause();
  expect(await takenFrom(fixture, first)).toEqual({ nodeId: 'n-2', epoch: 2 });
  await load.reached(100);
  first.process.resume();
  // What it still has in hand is sent now, and may not count.
  await expectSoon(async () => {
    const answer = await fetch(`${first.plan.url}/api/v1/jobs/${id}/cancel`, { method: 'POST' });
    expect(answer.status).toBe(503);
    expect(await answer.json()).toMatchObject({
      code: 'not_leader',
      leader: { nodeId: second.id, epoch: 2, url: second.plan.url },
    });
  });
  expect(first.output).toMatch(/This node is no longer the leader/);
  writeFileSync(file, '');
  await expectSucceeded(fixture, [id, ...(await load.done)]);
  expectOnce(fixture);
  const epochs = await sql`select epoch::int, node_id from millrace.leader`;
  expect([...epochs]).toEqual([{ epoch: 2, node_id: 'n-2' }]);
  expect(await terms(fixture)).toHaveLength(2);
  await expectAllEnded(fixture);
});

test('two nodes that are paused in turn lead in turn, and tasks are executed once', async () => {
  const fixture = await startTestCluster({
    leaders: 2,
    workers: 1,
    slots: 4,
    settings: LONG_SESSIONS,
  });
  const { cluster, client } = fixture;
  const file = cluster.file('go');
  const { id } = await client.submit({
    tasks: [{ id: 'a', executor: 'progress', input: { file, ms: 100 } }],
  });
  await cluster.effects.wait({ job: id, what: 'begin' });
  const load = new Load(client, { jobs: 120, lanes: 3 });
  for (const [round, name] of ['n-1', 'n-2', 'n-1'].entries()) {
    await load.reached((round + 1) * 30);
    const node = cluster.node(name);
    node.process.pause();
    expect(await takenFrom(fixture, node)).toMatchObject({ epoch: round + 2 });
    node.process.resume();
    // The next round needs it as a candidate.
    await expectSoon(async () => {
      const answer = await fetch(`${node.plan.url}/api/v1/leader`);
      expect(await answer.json()).toMatchObject({ epoch: round + 2 });
    });
  }
  writeFileSync(file, '');
  await expectSucceeded(fixture, [id, ...(await load.done)]);
  expectOnce(fixture);
  await expectAllEnded(fixture);
});
