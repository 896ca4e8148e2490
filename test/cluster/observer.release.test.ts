import { expect, onTestFinished, test } from 'vitest';
import type { ClusterNode } from '../rig/cluster/cluster-node.ts';
import { pauseMs } from '../rig/cluster/deadline.ts';
import { Load } from '../rig/cluster/load.ts';
import { LogFollower } from '../rig/cluster/log-follower.ts';
import { sseEvents } from '../rig/cluster/sse.ts';
import { startPostgres } from '../rig/postgres-server.ts';
import {
  expectAllEnded,
  expectCleanEnd,
  LONG_SESSIONS,
  startTestCluster,
  takenFrom,
  tablesFollow,
} from '../rig/cluster/test-cluster.ts';
import { expectSoon, until } from '../rig/until.ts';

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

const document = (id: string): Record<string, unknown> => ({ tasks: [{ id, executor: 'note' }] });

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
    expect((await ask(observer, `/api/v1/jobs/${id}/tasks/a`)).body).toMatchObject({
      state: 'succeeded',
      attempts: [{ attempt: 1, node: 'w-1', outcome: 'succeeded', error: null }],
    });
    expect(await ask(observer, `/api/v1/jobs/${id}/tasks/nobody`)).toMatchObject({ status: 404 });
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

/** Every answer's `asOf`, for as long as the test runs. */
class AsOfWatch {
  readonly seen: { readonly seq: number; readonly at: string }[] = [];
  #isOver = false;
  readonly #done: Promise<void>;

  constructor(node: ClusterNode) {
    this.#done = this.#run(node);
  }

  async #run(node: ClusterNode): Promise<void> {
    while (!this.#isOver) {
      const { status, body } = await ask(node, '/api/v1/jobs?limit=1');
      expect(status).toBe(200);
      if (body.asOf !== undefined) this.seen.push(body.asOf);
      await pauseMs(20);
    }
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await this.#done;
    expect(this.seen).toEqual(
      this.seen.toSorted((a, b) => a.seq - b.seq || (a.at < b.at ? -1 : 1)),
    );
  }
}

const ROUNDS = 2;
const JOBS = 200;

test('streams of every node and observer have no gap and no repetition over killed leaders', async () => {
  const fixture = await startTestCluster({ leaders: 2, workers: 2, settings: LONG_SESSIONS });
  const { cluster, client, sql } = fixture;
  const observers = [
    await cluster.startNode({ role: 'observer', id: 'o-1' }),
    await cluster.startNode({ role: 'observer', id: 'o-2', database: null }),
  ];
  const followers = cluster.nodes.map(({ id, plan }) => new LogFollower(id, plan.url));
  const watches = observers.map((node) => new AsOfWatch(node));
  const load = new Load(client, { jobs: JOBS * ROUNDS, lanes: 2 });
  const tookMs: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    await load.reached(JOBS * round + JOBS / 2);
    const leader = await cluster.leading();
    const killedAtMs = performance.now();
    await leader.process.crash();
    const next = await takenFrom(fixture, leader);
    const { id } = await client.submit(document('a'));
    for (const observer of observers) {
      await until(
        async () => (await ask(observer, `/api/v1/jobs/${id}`)).body.state === 'succeeded',
        `${observer.id} to see a job of the new term`,
      );
      tookMs.push(performance.now() - killedAtMs);
      expect(await ask(observer, '/api/v1/jobs', document('b'))).toMatchObject({
        status: 503,
        body: { leader: { nodeId: next.nodeId } },
      });
    }
    await leader.start();
  }
  await load.done;
  for (const watch of watches) await watch.end();
  console.log(`observers show a job of the new term after ${tookMs.map(Math.round).join(', ')} ms`);
  await expectSoon(async () => {
    await tablesFollow(sql);
    const [row] = await sql`select count(*)::int as live from millrace.job where state < 2`;
    expect(row).toEqual({ live: 0 });
  });
  const [head] = await sql`select last_seq::int from millrace.leader`;
  const last = head?.['last_seq'] as number;
  for (const { name, events } of followers) {
    await until(async () => events.length >= last, `${name} to tell all events`);
    expect(events.slice(0, last).map(({ id }) => id)).toEqual(
      Array.from({ length: last }, (_, at) => at + 1),
    );
    expect(events.slice(0, last).map(({ data }) => data)).toEqual(
      followers[0]?.events.slice(0, last).map(({ data }) => data),
    );
  }
  await expectAllEnded(fixture);
});
