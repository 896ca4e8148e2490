/** Connections that end, or fall silent, at the worst moment. */
import postgres from 'postgres';
import { expect, onTestFinished, test } from 'vitest';
import { openTestStore } from '../../../../test/rig/millrace-database.ts';
import { jobNo } from '../../core/index.ts';
import { deferred } from '../../../kit/index.ts';
import { contentOf, manyRows } from '../../../../test/rig/conformance/moving.ts';
import { TestLeader } from '../../../../test/rig/conformance/leader.ts';
import { aJob, aSpec, aTask } from '../../../../test/rig/conformance/rows.ts';
import type { Dumped } from '../store.ts';
import { LeaderConnection } from './leader-connection.ts';
import { ReadPool } from './pool.ts';

function connect(url: string): postgres.Sql {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  onTestFinished(() => sql.end());
  return sql;
}

const settingsOf = (url: string, ttlMs: number) => ({ url, ttlMs, applicationName: 'test' });

async function killIdleTransaction(sql: postgres.Sql): Promise<void> {
  const killed = await sql`select pg_terminate_backend(pid, 5000) from pg_stat_activity
    where datname = current_database() and state = 'idle in transaction'`;
  expect(killed).toHaveLength(1);
}

const COUNTERS: Dumped = { table: 'counters', row: { shard: 0, lastSeq: 0, nextJobNo: jobNo(3) } };

test('a fill whose connection ends between two statements stores nothing and says so', async () => {
  const { store, url } = await openTestStore();
  const sql = connect(url);
  async function* rows(): AsyncGenerator<Dumped> {
    yield COUNTERS;
    yield { table: 'job', row: aJob(1) };
    await killIdleTransaction(sql);
    yield { table: 'job', row: aJob(2) };
    yield { table: 'spec', row: aSpec(2, 0) };
    yield { table: 'task', row: aTask(2, 0) };
  }
  await expect(store.fill(rows())).rejects.toMatchObject({ code: 'store_unavailable' });
  expect(await contentOf(store)).toEqual([]);
});

test('a fill whose connection ends after the last row stores nothing and says so', async () => {
  const { store, url } = await openTestStore();
  const sql = connect(url);
  async function* rows(): AsyncGenerator<Dumped> {
    yield COUNTERS;
    await killIdleTransaction(sql);
  }
  await expect(store.fill(rows())).rejects.toMatchObject({ code: 'store_unavailable' });
  expect(await contentOf(store)).toEqual([]);
});

test('a dump whose connection ends half-way fails rather than stops short', async () => {
  const { store, url } = await openTestStore();
  await store.fill(
    (async function* rows() {
      yield* manyRows();
    })(),
  );
  const sql = connect(url);
  const dumped: Dumped[] = [];
  const dump = async (): Promise<void> => {
    for await (const row of store.dump()) {
      if (dumped.length === 0) await killIdleTransaction(sql);
      dumped.push(row);
    }
  };
  await expect(dump()).rejects.toMatchObject({ code: 'store_unavailable' });
});

test('a stream never goes on outside of its snapshot', async () => {
  const { url } = await openTestStore();
  const sql = connect(url);
  const pool = new ReadPool(settingsOf(url, 10_000));
  onTestFinished(() => pool.close());
  const stream = pool.stream(async function* read(run) {
    yield await run('select 1 as one', []);
    yield await run('select 2 as two', []);
  });
  const read = async (): Promise<void> => {
    let first = true;
    for await (const _ of stream) {
      if (first) await killIdleTransaction(sql);
      first = false;
    }
  };
  await expect(read()).rejects.toMatchObject({ code: 'store_unavailable' });
});

test('a snapshot whose connection ends half-way is read again, and the process lives', async () => {
  const { url } = await openTestStore();
  const sql = connect(url);
  const pool = new ReadPool(settingsOf(url, 10_000));
  onTestFinished(() => pool.close());
  let times = 0;
  const answer = await pool.snapshot(async (run) => {
    times += 1;
    await run('select 1', []);
    if (times === 1) await killIdleTransaction(sql);
    return run('select 2 as two', []);
  });
  expect(answer).toMatchObject([{ two: 2 }]);
  expect(times).toBe(2);
});

test('more snapshots than connections wait for their turn', async () => {
  const { url } = await openTestStore();
  const pool = new ReadPool(settingsOf(url, 10_000));
  onTestFinished(() => pool.close());
  const pids = await Promise.all(
    Array.from({ length: 12 }, () =>
      pool.snapshot(async (run) => (await run('select pg_backend_pid() as pid', []))[0]?.['pid']),
    ),
  );
  expect(new Set(pids).size).toBe(4);
});

test('a read that gets no answer is given up, and the next one has a new connection', async () => {
  const { url } = await openTestStore();
  const limits = { statementMs: 1_000, snapshotMs: 1_000 };
  const pool = new ReadPool(settingsOf(url, 10_000), limits);
  onTestFinished(() => pool.close());
  const count = 'select count(*) from millrace.node';
  await connect(url).begin(async (tx) => {
    await tx`lock table millrace.node`;
    const silent = { code: 'store_unavailable' };
    await expect(pool.run(count, [])).rejects.toMatchObject(silent);
    await expect(pool.snapshot((run) => run(count, []))).rejects.toMatchObject(silent);
    expect(await pool.run('select 1 as one', [])).toMatchObject([{ one: 1 }]);
  });
  expect(await pool.run(count, [])).toHaveLength(1);
});

test('the time of a statement on the connection is not used up by those before it', async () => {
  const { url } = await openTestStore();
  const leader = new LeaderConnection(settingsOf(url, 4_000), []);
  onTestFinished(() => leader.close());
  // The limit is 2 s: each keeps it, together they take longer.
  const long = [1, 2, 3].map(() => leader.run('select 1 as one from pg_sleep(0.7)', []));
  expect(await Promise.all(long)).toHaveLength(3);
});

test('a read that is broken off by the end of the store is not begun anew', async () => {
  const { url } = await openTestStore();
  const sql = connect(url);
  const pool = new ReadPool({ ...settingsOf(url, 10_000), applicationName: 'closing' });
  const begun = deferred();
  const read = pool.snapshot(async (run) => {
    begun.resolve();
    return run('select pg_sleep(20)', []);
  });
  const outcome = read.catch((error: unknown) => error);
  await begun.promise;
  await pool.close();
  expect(await outcome).toMatchObject({ code: 'store_unavailable' });
  await expect(pool.run('select 1', [])).rejects.toMatchObject({ code: 'store_unavailable' });
  // The server goes on with what it was asked for; nobody has asked again.
  const left = await sql`select from pg_stat_activity where application_name = 'closing'`;
  expect(left.length).toBeLessThanOrEqual(1);
});

test('commits behind one whose connection is lost are not made, on whatever connection', async () => {
  const { store, url } = await openTestStore();
  const leader = await TestLeader.of(store, 0);
  await leader.commit({ jobInserts: [aJob(1)] });
  const sql = connect(url);
  const asked: Promise<readonly string[]>[] = [];
  await connect(url).begin(async (tx) => {
    await tx`select from millrace.leader for update`;
    asked[0] = leader.commitAll([2, 3, 4].map((no) => ({ jobInserts: [aJob(no)] })));
    const endOne = () => sql`select pg_terminate_backend(pid, 5000) from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`;
    while ((await endOne()).length === 0) continue;
  });
  const unknown = 'outcome_unknown';
  expect(await asked[0]).toEqual([unknown, unknown, unknown]);
  expect(await store.jobs(0, { limit: 9 })).toHaveLength(1);
  // Nothing of it comes later.
  await leader.commit({ jobInserts: [aJob(5)] });
  expect((await store.jobs(0, { limit: 9 })).map(({ no }) => no)).toEqual([5, 1]);
});
