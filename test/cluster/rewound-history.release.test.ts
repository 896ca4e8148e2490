/**
 * PostgreSQL fails over to an asynchronous standby that lacks the last commits, while all processes of the
 * cluster live on. What was lost is lost; nothing of it may come back as something else.
 */
import { writeFileSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import postgres from 'postgres';
import type { TestClient } from '../rig/cluster/client.ts';
import { Proxy, targetOf } from '../rig/cluster/proxy.ts';
import { startPostgres } from '../rig/postgres-server.ts';
import type { PostgresServer } from '../rig/postgres-server.ts';
import { expectAllEnded, startTestCluster } from '../rig/cluster/test-cluster.ts';
import { expectSoon } from '../rig/until.ts';

/** A primary with a standby, and the two ways: of the cluster to the database, of the standby to the primary. */
interface Pair {
  readonly primary: PostgresServer;
  readonly standby: string;
  readonly front: Proxy;
  readonly replication: Proxy;
}

async function startPair(): Promise<Pair> {
  const primary = await startPostgres('throw-away');
  onTestFinished(() => primary.stop());
  const replication = await Proxy.start(targetOf(primary.url));
  const standby = await primary.replicate(replication.port);
  const front = await Proxy.start(targetOf(primary.url));
  return { primary, standby, front, replication };
}

/** Settles when the standby has all that the primary has. */
async function caughtUp({ primary }: Pair): Promise<void> {
  const sql = postgres(primary.url, { max: 1, onnotice: () => {} });
  try {
    await expectSoon(async () => {
      const [row] = await sql`
        select coalesce(bool_and(replay_lsn >= pg_current_wal_lsn()), false) as done
          from pg_stat_replication`;
      expect(row?.['done']).toBe(true);
    });
  } finally {
    await sql.end({ timeout: 1 });
  }
}

async function failOver({ primary, standby, front }: Pair): Promise<void> {
  await primary.crash();
  await primary.promote();
  front.retarget(targetOf(standby));
  front.cut();
}

/** The leader's row names a connection that is there. */
async function somebodyLeads(sql: postgres.Sql): Promise<void> {
  await expectSoon(async () => {
    const found = await sql`
      select from millrace.leader l join pg_stat_activity a on a.pid = l.backend_pid
       where a.backend_start = l.backend_start and not l.released`;
    expect(found).toHaveLength(1);
  });
}

/** Jobs of one task that ends with its own name when `file` is there. */
async function submitNamed(client: TestClient, file: string, names: readonly string[]) {
  const ids: string[] = [];
  for (const value of names) {
    const tasks = [{ id: 'a', executor: 'waitForFile', input: { file, value } }];
    ids.push((await client.submit({ tasks })).id);
  }
  return ids;
}

const names = (what: string, count: number): string[] =>
  Array.from({ length: count }, (_, no) => `${what} ${no}`);

async function expectOwnResults(client: TestClient, ids: readonly string[], values: string[]) {
  const results = [];
  for (const id of ids) {
    const { tasks } = await client.waitForJob(id);
    results.push((tasks[0]?.result as { value: unknown } | null)?.value);
  }
  expect(results).toEqual(values);
}

test('no job after the fail-over is given the result of a lost one', async () => {
  const pair = await startPair();
  const { front, replication, standby } = pair;
  // No write is under way while the database changes: nothing but its content shows that it did.
  const ttl = { leaderTtlMs: 30_000, leaderRenewMs: 10_000 };
  const settings = { ...ttl, sessionTtlMs: 60_000, nodeDeadMs: 60_000 };
  const route = async (): Promise<string> => front.through(standby);
  const fixture = await startTestCluster({
    database: standby,
    route,
    workers: 2,
    slots: 20,
    settings,
  });
  const { cluster, client, sql } = fixture;
  const before = await client.submit({ tasks: [{ id: 'a', executor: 'note' }] });
  await client.waitForJob(before.id);
  await caughtUp(pair);
  await replication.refuse();
  // Acknowledged, under way on both workers, and not on the standby.
  const lost = await submitNamed(client, cluster.file('over'), names('lost', 30));
  for (const id of lost) {
    await client.waitForEvent(({ event }) => event === 'started', { job: id });
    client.acknowledged.delete(id);
  }
  const [absent, present] = cluster.workers;
  absent?.process.pause();
  await failOver(pair);
  await somebodyLeads(sql);
  const later = await submitNamed(client, cluster.file('go'), names('new', 40));
  // The other worker has taken some of them before the first one is back with what it holds.
  await expectSoon(async () => {
    const [row] = await sql`select count(*)::int as running from millrace.any_task
      where state = 3 and node_id = ${present?.id ?? ''}`;
    expect(row?.['running']).toBeGreaterThanOrEqual(20);
  });
  writeFileSync(cluster.file('over'), '');
  absent?.process.resume();
  await expectSoon(async () => {
    const ends = cluster.effects.all().filter(({ what }) => what !== 'begin');
    expect(ends.filter(({ job }) => lost.includes(job))).toHaveLength(lost.length);
  });
  writeFileSync(cluster.file('go'), '');
  await expectOwnResults(client, later, names('new', 40));
  expect(cluster.nodes.map(({ output }) => output).join('')).toMatch(
    /30 acknowledged jobs are lost/,
  );
  await expect(client.job(lost[0] ?? '')).rejects.toMatchObject({
    status: 404,
    problem: { detail: expect.stringMatching(/lost its last commits/) as string },
  });
  expect((await client.job(before.id)).state).toBe('succeeded');
  await expectAllEnded(fixture);
});
