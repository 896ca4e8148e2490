import { expect, onTestFinished, test } from 'vitest';
import type { ClusterNode } from '../rig/cluster/cluster-node.ts';
import { sseEvents } from '../rig/cluster/sse.ts';
import { startPostgres } from '../rig/postgres-server.ts';
import { expectCleanEnd, startTestCluster } from '../rig/cluster/test-cluster.ts';
import { until } from '../rig/until.ts';

interface Seen {
  readonly status: number;
  readonly body: {
    readonly state?: string;
    readonly asOf?: { readonly seq: number; readonly at: string };
    readonly code?: string;
    readonly leader?: { readonly nodeId: string; readonly url: string; readonly epoch: number };
  };
}

async function ask(node: ClusterNode, path: string, body?: unknown): Promise<Seen> {
  const init = {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  };
  const answer = await fetch(new URL(path, node.plan.url ?? ''), body === undefined ? {} : init);
  return { status: answer.status, body: (await answer.json()) as Seen['body'] };
}

const document = (id: string): object => ({ tasks: [{ id, executor: 'note' }] });

test('an observer refers writes to the leader, whoever that is now', async () => {
  const fixture = await startTestCluster({ leaders: 2, workers: 1 });
  const { cluster } = fixture;
  const observer = await cluster.startNode({ role: 'observer', id: 'o-1', database: null });
  expect(await ask(observer, '/api/v1/jobs', document('a'))).toMatchObject({
    status: 503,
    body: { leader: { nodeId: 'n-1' } },
  });
  await cluster.node('n-1').process.crash();
  await until(
    async () => (await ask(observer, '/api/v1/jobs', document('a'))).body.leader?.nodeId === 'n-2',
    'the observer to name the new leader',
  );
  expect((await ask(observer, '/api/v1/leader')).body).toMatchObject({ nodeId: 'n-2', epoch: 2 });
  await expectCleanEnd(fixture);
});

/** The numbers of all events that a node tells, up to `last`. */
async function eventsOf(node: ClusterNode, last: number): Promise<number[]> {
  const signal = AbortSignal.timeout(20_000);
  const url = new URL('/api/v1/events?after=0', node.plan.url ?? '');
  const { body } = await fetch(url, { signal });
  const numbers: number[] = [];
  if (body === null) return numbers;
  for await (const { id } of sseEvents(body, () => {})) {
    numbers.push(id);
    if (id >= last) return numbers;
  }
  return numbers;
}

test.each(['with', 'without'] as const)(
  'an observer %s a database answers while leader and database are down, and catches up',
  async (access) => {
    const server = await startPostgres('throw-away');
    onTestFinished(() => server.stop());
    const fixture = await startTestCluster({ database: server.url, workers: 1 });
    const { cluster } = fixture;
    const leader = cluster.node('n-1');
    const options = access === 'with' ? {} : { database: null };
    const observer = await cluster.startNode({ role: 'observer', id: 'o-1', ...options });
    if (access === 'without') expect(observer.plan.args).not.toContain('--database');
    const { id } = await cluster.client.submit({ tasks: [{ id: 'a', executor: 'note' }] });
    await cluster.client.waitForJob(id);
    const before = await until(async () => {
      const seen = await ask(observer, `/api/v1/jobs/${id}`);
      return seen.body.state === 'succeeded' && seen;
    }, 'the observer to see the job');
    expect(before.body.asOf?.seq).toBeGreaterThan(0);
    expect(Date.parse(before.body.asOf?.at ?? '')).toBeGreaterThan(0);

    await leader.process.crash();
    await server.crash();
    const during = await ask(observer, `/api/v1/jobs/${id}`);
    expect(during).toMatchObject({ status: 200, body: { state: 'succeeded' } });
    expect(during.body.asOf?.seq).toBeGreaterThanOrEqual(before.body.asOf?.seq ?? Infinity);
    expect((await ask(observer, '/api/v1/nodes')).body.asOf?.seq).toBeGreaterThan(0);
    const refused = await ask(observer, '/api/v1/jobs', document('b'));
    expect(refused).toMatchObject({
      status: 503,
      body: { code: 'not_leader', leader: { nodeId: 'n-1', url: leader.plan.url, epoch: 1 } },
    });

    await server.start();
    await leader.start();
    const next = await cluster.client.submit({ tasks: [{ id: 'b', executor: 'note' }] });
    await cluster.client.waitForJob(next.id);
    const after = await until(async () => {
      const seen = await ask(observer, `/api/v1/jobs/${next.id}`);
      return seen.body.state === 'succeeded' && seen;
    }, 'the observer to catch up');
    const last = after.body.asOf?.seq ?? 0;
    expect(last).toBeGreaterThan(during.body.asOf?.seq ?? Infinity);
    expect(await eventsOf(observer, last)).toEqual(Array.from({ length: last }, (_, at) => at + 1));
    await expectCleanEnd(fixture);
  },
);
