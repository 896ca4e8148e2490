/** A backup of the database is restored while every process of the cluster lives on. */
import { writeFileSync } from 'node:fs';
import postgres from 'postgres';
import { expect, onTestFinished, test } from 'vitest';
import type { ClusterNode } from '../rig/cluster/cluster-node.ts';
import { LogFollower } from '../rig/cluster/log-follower.ts';
import { Proxy, targetOf } from '../rig/cluster/proxy.ts';
import { startPostgres } from '../rig/postgres-server.ts';
import { expectAllEnded, LONG_TTLS, startTestCluster } from '../rig/cluster/test-cluster.ts';
import type { TestCluster } from '../rig/cluster/test-cluster.ts';
import { expectSoon, until } from '../rig/until.ts';

/** A server with the database `live`, reached through a proxy, and a backup of it. */
class BackedUp {
  readonly url: string;
  readonly front: Proxy;
  readonly #admin: postgres.Sql;

  private constructor(url: string, front: Proxy, admin: postgres.Sql) {
    this.url = url;
    this.front = front;
    this.#admin = admin;
  }

  static async start(): Promise<BackedUp> {
    const server = await startPostgres('throw-away');
    onTestFinished(() => server.stop());
    const admin = postgres(server.url, { max: 1, onnotice: () => {} });
    onTestFinished(() => admin.end({ timeout: 0 }));
    await admin`create database live`;
    const url = new URL(server.url);
    url.pathname = '/live';
    return new BackedUp(url.href, await Proxy.start(targetOf(server.url)), admin);
  }

  async backUp(): Promise<void> {
    await this.#offline(async (sql) => {
      await sql`create database backup template live`;
    });
  }

  /** What there was is kept as `lost`. */
  async restore(): Promise<void> {
    await this.#offline(async (sql) => {
      await sql`alter database live rename to lost`;
      await sql`alter database backup rename to live`;
    });
  }

  async #offline(act: (sql: postgres.Sql) => Promise<void>): Promise<void> {
    const sql = this.#admin;
    await this.front.refuse();
    await expectSoon(async () => {
      await sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = 'live'`;
      await act(sql);
    });
    await this.front.heal();
  }
}

interface Term {
  readonly epoch: number;
  readonly term: string;
  readonly lastSeq: number;
}

async function lastTerm({ sql }: TestCluster): Promise<Term> {
  const [row] = await sql`
    select epoch::int, term, last_seq::int as "lastSeq" from millrace.leader`;
  return row as unknown as Term;
}

async function submitNamed(
  { client }: TestCluster,
  executor: string,
  names: readonly string[],
  file?: string,
) {
  const ids: string[] = [];
  for (const value of names) {
    const tasks = [
      { id: 'a', executor, input: { value, ...(file === undefined ? {} : { file }) } },
    ];
    ids.push((await client.submit({ tasks })).id);
  }
  return ids;
}

const names = (what: string, count: number): string[] =>
  Array.from({ length: count }, (_, no) => `${what} ${no}`);

async function listed(node: ClusterNode): Promise<readonly string[]> {
  const answer = await fetch(new URL('/api/v1/jobs?limit=500', node.plan.url ?? ''));
  expect(answer.status).toBe(200);
  return ((await answer.json()) as { jobs: { id: string }[] }).jobs.map(({ id }) => id);
}

/** Its place is refused as part of another history, and it has received no event of the new one before that. */
async function expectRefused(follower: LogFollower, history: readonly string[]): Promise<void> {
  const { name, events } = follower;
  const refusal = await until(async () => follower.refusal, `${name} to refuse the old place`);
  // The second while the new history is still shorter than the place.
  expect(refusal).toMatch(/no longer belongs to the current history|beyond the end of the log/);
  expect(events.map(({ data }) => data)).toEqual(history.slice(0, events.length));
}

test('a restored backup begins a new term, its losses are reported, and no observer or stream mixes histories', async () => {
  const database = await BackedUp.start();
  const fixture = await startTestCluster({
    database: database.url,
    route: async (url) => database.front.through(url),
    leaders: 2,
    workers: 2,
    slots: 40,
    settings: LONG_TTLS,
  });
  const { cluster, client } = fixture;
  const observers = [
    await cluster.startNode({ role: 'observer', id: 'o-1' }),
    await cluster.startNode({ role: 'observer', id: 'o-2', database: null }),
  ];
  const kept = await submitNamed(fixture, 'note', names('kept', 5));
  for (const id of kept) await client.waitForJob(id);
  await database.backUp();
  const followers = cluster.nodes.map(({ id, plan }) => new LogFollower(id, plan.url));
  const over = cluster.file('over');
  const ended = await submitNamed(fixture, 'note', names('ended', 10));
  for (const id of ended) await client.waitForJob(id);
  const running = await submitNamed(fixture, 'waitForFile', names('lost', 20), over);
  for (const id of running)
    await client.waitForEvent(({ event }) => event === 'started', { job: id });
  const lost = [...ended, ...running];
  for (const id of lost) client.acknowledged.delete(id);
  const before = await lastTerm(fixture);
  for (const follower of followers)
    await expectSoon(
      async () => expect(follower.events.length).toBeGreaterThanOrEqual(before.lastSeq),
      60_000,
      () => `${follower.summary}\n${cluster.nodes.find(({ id }) => id === follower.name)?.output}`,
    );
  const history = followers[0]?.events.map(({ data }) => data) ?? [];

  await database.restore();
  const after = await expectSoon(async () => {
    const term = await lastTerm(fixture);
    expect(term.epoch).toBeGreaterThan(before.epoch);
    return term;
  });
  expect(after.term).not.toBe(before.term);
  const go = cluster.file('go');
  const later = await submitNamed(fixture, 'waitForFile', names('new', 30), go);
  writeFileSync(over, '');
  await expectSoon(async () => {
    const ends = cluster.effects.all().filter(({ what }) => what !== 'begin');
    expect(ends.filter(({ job }) => running.includes(job))).toHaveLength(running.length);
  });
  writeFileSync(go, '');
  for (const [at, id] of later.entries()) {
    const { tasks } = await client.waitForJob(id);
    expect(tasks[0]?.result).toMatchObject({ value: `new ${at}` });
  }
  expect(cluster.nodes.map(({ output }) => output).join('')).toMatch(
    /30 acknowledged jobs are lost/,
  );
  for (const follower of followers) await expectRefused(follower, history);
  for (const node of [...observers, ...cluster.nodes])
    await expectSoon(async () => {
      expect((await listed(node)).toSorted()).toEqual([...kept, ...later].toSorted());
    });
  await expect(client.job(lost[0] ?? '')).rejects.toMatchObject({ status: 404 });
  await expectAllEnded(fixture);
});
