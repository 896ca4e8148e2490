/**
 * PostgreSQL fails over to an asynchronous standby that lacks the last commits, while all processes of the
 * cluster live on. What was lost is lost; nothing of it may come back as something else.
 */
import { writeFileSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import postgres from 'postgres';
import { Proxy, targetOf } from '../../src/testing/cluster/proxy.ts';
import { startPostgres } from '../fixture/postgres-server.ts';
import type { PostgresServer } from '../fixture/postgres-server.ts';
import { expectRest, expectSoon, PATIENT, stage } from './stage.ts';

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

test('no job after the fail-over is given the result of a lost one', async () => {
  const pair = await startPair();
  const { front, replication, standby } = pair;
  const play = await stage({
    database: standby,
    way: async () => front.through(standby),
    workers: 2,
    slots: 20,
    // No write is under way while the database changes: nothing but its content shows that it did.
    settings: {
      ...PATIENT,
      leaderTtlMs: 30_000,
      leaderRenewMs: 10_000,
      sessionTtlMs: 60_000,
      nodeDeadMs: 60_000,
    },
  });
  const { cluster, client } = play;
  const before = await client.submit({ tasks: [{ id: 'a', executor: 'note' }] });
  await client.waitForJob(before.id);
  await caughtUp(pair);
  await replication.refuse();
  // Acknowledged, under way on both workers, and not on the standby.
  const over = cluster.file('over');
  const lost: string[] = [];
  for (let no = 0; no < 30; no += 1) {
    const input = { file: over, value: `lost ${no}` };
    const { id } = await client.submit({ tasks: [{ id: 'a', executor: 'waitForFile', input }] });
    lost.push(id);
  }
  for (const id of lost) {
    await client.waitForEvent(({ event }) => event === 'started', { job: id });
    client.acknowledged.delete(id);
  }
  const [absent, present] = cluster.workers;
  absent?.process.pause();
  await failOver(pair);
  await somebodyLeads(play.sql);
  const file = cluster.file('go');
  const later: string[] = [];
  for (let no = 0; no < 40; no += 1) {
    const input = { file, value: `new ${no}` };
    const { id } = await client.submit({ tasks: [{ id: 'a', executor: 'waitForFile', input }] });
    later.push(id);
  }
  // Those that the other worker has taken, before the first one is back with what it holds.
  await expectSoon(async () => {
    const [row] = await play.sql`
      select count(*)::int as running from millrace.task where node_id = ${present?.id ?? ''} and state = 3`;
    expect(row?.['running']).toBeGreaterThanOrEqual(20);
  });
  writeFileSync(over, '');
  absent?.process.resume();
  await expectSoon(async () => {
    const ended = cluster.effects
      .all()
      .filter(({ what, job }) => what !== 'begin' && lost.includes(job));
    expect(ended).toHaveLength(lost.length);
  });
  writeFileSync(file, '');
  for (const [no, id] of later.entries()) {
    const { state, tasks } = await client.waitForJob(id);
    expect({ state, value: (tasks[0]?.result as { value: unknown } | null)?.value }).toEqual({
      state: 'succeeded',
      value: `new ${no}`,
    });
  }
  const said = cluster.nodes.map(({ output }) => output).join('');
  expect(said).toMatch(/30 acknowledged jobs are lost/);
  await expect(client.job(lost[0] ?? '')).rejects.toMatchObject({ status: 404 });
  expect((await client.job(before.id)).state).toBe('succeeded');
  await expectRest(play);
});
