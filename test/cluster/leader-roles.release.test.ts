import { expect, test } from 'vitest';
import { expectAllEnded, leaderRow, startTestCluster } from '../rig/cluster/test-cluster.ts';
import { expectSoon } from '../rig/until.ts';

function from(task: string, path?: string): object {
  return { value: path === undefined ? { $from: task } : { $from: task, path } };
}

test('a leader and two workers run a graph: ids, results and events are as they should be', async () => {
  const fixture = await startTestCluster({ workers: 2, slots: 2 });
  const { client } = fixture;
  const submitted = await client.submit({
    name: 'diamond',
    tasks: [
      { id: 'top', executor: 'note', input: { value: { rows: [1, 2] } } },
      { id: 'left', executor: 'note', dependsOn: ['top'], input: from('top', '/value/rows/0') },
      { id: 'right', executor: 'note', dependsOn: ['top'], input: from('top', '/value/rows/1') },
      { id: 'bottom', executor: 'note', dependsOn: ['left', 'right'], input: from('right') },
    ],
  });
  expect(submitted.id).toMatch(/^[0-9a-f-]{36}$/);
  expect(submitted.state).toBe('queued');
  const job = await client.waitForJob(submitted.id);
  expect(job).toMatchObject({ id: submitted.id, state: 'succeeded', name: 'diamond' });
  const signed = { attempt: 1, fence: expect.any(Number) as number };
  const right = { signed, value: 2 };
  expect(job.tasks.map(({ id, state, result }) => ({ id, state, result }))).toEqual([
    { id: 'top', state: 'succeeded', result: { signed, value: { rows: [1, 2] } } },
    { id: 'left', state: 'succeeded', result: { signed, value: 1 } },
    { id: 'right', state: 'succeeded', result: right },
    { id: 'bottom', state: 'succeeded', result: { signed, value: right } },
  ]);
  expect(new Set(job.tasks.map(({ node }) => node))).toEqual(new Set(['w-1', 'w-2']));
  const kinds: string[] = [];
  const bottom: string[] = [];
  for await (const { event, data } of client.events({
    job: job.id,
    signal: AbortSignal.timeout(20_000),
  })) {
    kinds.push(event);
    if ((JSON.parse(data) as { task: string | null }).task === 'bottom') bottom.push(event);
    if (event === 'job.succeeded') break;
  }
  expect(kinds[0]).toBe('job.created');
  expect(kinds.filter((kind) => kind === 'completed')).toHaveLength(4);
  expect(bottom).toEqual(['created', 'queued', 'assigned', 'started', 'completed']);
  await expectAllEnded(fixture);
});

test('an `auto` node that is alone leads and executes', async () => {
  const fixture = await startTestCluster({ slots: 1 });
  const { id } = await fixture.client.submit({ tasks: [{ id: 'a', executor: 'note' }] });
  const job = await fixture.client.waitForJob(id);
  expect(job.tasks[0]).toMatchObject({ state: 'succeeded', node: 'n-1' });
  await expectAllEnded(fixture);
});

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

test('servers without slots are listed as nodes, the leader and those that stand by', async () => {
  const fixture = await startTestCluster({ leaders: 2, workers: 1 });
  const { cluster } = fixture;
  await expectSoon(async () => {
    const nodes = await cluster.client.allNodes();
    expect(nodes.map(({ id, status, slots }) => [id, status, slots > 0])).toEqual([
      ['n-1', 'healthy', false],
      ['n-2', 'healthy', false],
      ['w-1', 'healthy', true],
    ]);
  });
  await cluster.node('n-2').process.stop();
  expect((await cluster.client.allNodes()).map(({ id }) => id)).toEqual(['n-1', 'w-1']);
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
