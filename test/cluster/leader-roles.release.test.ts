import { expect, test } from 'vitest';
import { expectAllEnded, leaderRow, startTestCluster } from '../rig/cluster/test-cluster.ts';
import { expectSoon } from '../rig/until.ts';

test('a second `leader` waits for two TTLs and then gives up; an `auto` one follows for ever', async () => {
  const fixture = await startTestCluster({ leaders: 2, workers: 0 });
  const { cluster } = fixture;
  const late = await cluster.planNode({ role: 'leader' });
  const startedAt = performance.now();
  const { code } = await late.launch().exited;
  expect(code).toBe(3);
  expect(performance.now() - startedAt).toBeGreaterThan(3_000);
  expect(late.output).toMatch(/did not become the leader within 3000 ms/);
  expect(late.output).toMatch(/The leader is n-1/);
  expect(late.output).not.toMatch(/millrace ready|\n\s+at /);
  expect(cluster.node('n-2').isRunning).toBe(true);
  expect(await leaderRow(fixture)).toEqual({ nodeId: 'n-1', epoch: 1 });
  await expectAllEnded(fixture);
});

test('a `leader` that waits leads when the one before it leaves', async () => {
  const fixture = await startTestCluster({
    leaders: 1,
    workers: 0,
    settings: { leaderTtlMs: 4_000, sessionTtlMs: 6_000, nodeDeadMs: 7_000 },
  });
  const { cluster } = fixture;
  const heir = await cluster.planNode({ role: 'leader' });
  const waiting = heir.launch();
  await expectSoon(async () => expect((await fetch(`${heir.plan.url}/healthz`)).status).toBe(200));
  expect(heir.output).not.toMatch(/millrace ready/);
  await cluster.node('n-1').process.stop();
  await waiting.line(heir.plan.ready);
  expect(await leaderRow(fixture)).toEqual({ nodeId: 'n-2', epoch: 2 });
  await expectAllEnded(fixture);
});

test('a node of the role `worker` executes and never leads; an observer does neither', async () => {
  const fixture = await startTestCluster({ leaders: 1, workers: 0 });
  const { cluster, client } = fixture;
  const worker = await cluster.startNode({ id: 'hands', role: 'worker', slots: 1 });
  const observer = await cluster.startNode({ id: 'eyes', role: 'observer', slots: 4 });
  const { id } = await client.submit({ tasks: [{ id: 'a', executor: 'note' }] });
  const job = await client.waitForJob(id);
  expect(job.tasks[0]).toMatchObject({ state: 'succeeded', node: 'hands' });
  expect((await client.nodes()).map((node) => node.id)).toEqual(['hands']);
  for (const { plan } of [worker, observer]) {
    await expectSoon(async () => {
      const response = await fetch(`${plan.url}/api/v1/jobs/${id}`);
      expect(await response.json()).toMatchObject({ id, state: 'succeeded' });
    });
    const refused = await fetch(`${plan.url}/api/v1/jobs/${id}/cancel`, { method: 'POST' });
    expect(refused.status).toBe(503);
    expect(await refused.json()).toMatchObject({ code: 'not_leader', leader: { nodeId: 'n-1' } });
  }
  await cluster.node('n-1').process.crash();
  // Longer than the TTL, by the database's clock: nobody has taken what was free.
  await expectSoon(async () => {
    const [row] = await fixture.sql`
      select expires_at + interval '1 second' < now() as is_over from millrace.leader`;
    expect(row).toEqual({ is_over: true });
  });
  expect(await leaderRow(fixture)).toEqual({ nodeId: 'n-1', epoch: 1 });
  await cluster.node('n-1').start();
  const again = await client.submit({ tasks: [{ id: 'a', executor: 'note' }] });
  expect(await client.waitForJob(again.id)).toMatchObject({ state: 'succeeded' });
  await expectAllEnded(fixture);
});
