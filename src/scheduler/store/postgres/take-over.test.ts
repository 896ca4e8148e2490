/** Who may take a shard from whom, and when. */
import postgres from 'postgres';
import { expect, onTestFinished, test } from 'vitest';
import { openTestStore } from '../../../../test/rig/millrace-database.ts';
import { deferred, systemClock } from '../../../kit/index.ts';
import { candidacy, TestLeader, TTL_MS } from '../../../../test/rig/conformance/leader.ts';
import { aJob, termId } from '../../../../test/rig/conformance/rows.ts';
import { openPostgresStore, type PostgresStore } from './open.ts';
import { whenVacant } from './leader-vacancy.ts';

const RIVAL = { nodeId: 'node-b', term: termId('b') };

function connect(url: string): postgres.Sql {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  onTestFinished(() => sql.end());
  return sql;
}

async function openAlso(url: string, ttlHintMs = 10_000): Promise<PostgresStore> {
  const store = await openPostgresStore({ url, ttlHintMs });
  onTestFinished(() => store.close());
  return store;
}

/** A leader's process that is gone: its connections are closed, its row is as it was. */
async function deserted(): Promise<{ store: PostgresStore; url: string }> {
  const { store, url } = await openTestStore();
  const gone = await openPostgresStore({ url });
  await TestLeader.of(gone, 0);
  await gone.close();
  return { store, url };
}

const holders = (sql: postgres.Sql) => sql`
  select k.pid from pg_locks k where k.locktype = 'advisory' and k.classid = 1835625580
    and k.objid = 0 and k.mode = 'ExclusiveLock' and k.granted
    and k.database = (select oid from pg_database where datname = current_database())`;

const recorded = async (sql: postgres.Sql): Promise<number | null> => {
  const [row] = await sql`select backend_pid as pid from millrace.leader where shard = 0`;
  return row?.['pid'] as number | null;
};

/** Asks until the row names another connection: it is made anew without anybody's asking. */
async function recordedAfter(sql: postgres.Sql, before: number): Promise<number> {
  for (;;) {
    const pid = await recorded(sql);
    if (pid !== null && pid !== before) return pid;
  }
}

const never = new AbortController().signal;

test('the connection that writes is the one in the row, and holds the lock', async () => {
  const { store, url } = await openTestStore();
  const leader = await TestLeader.of(store, 0);
  const sql = connect(url);
  const pid = await recorded(sql);
  expect(await holders(sql)).toEqual([{ pid }]);
  await store.resign(leader.term);
  // On the same connection, so that the lock was given back when this is answered.
  await store.resign(leader.term);
  expect(await holders(sql)).toHaveLength(0);
});

test('a leader whose process is gone is seen soon, and deposed by that proof', async () => {
  const { store } = await deserted();
  const sinceMs = systemClock.monotonicMs();
  const vacated = await store.whenVacant(0, never);
  // Its time would be up in ten minutes.
  expect(systemClock.monotonicMs() - sinceMs).toBeLessThan(5_000);
  expect(vacated).toBe(1);
  // Without the proof its time counts.
  const early = await store.campaign(candidacy(0, RIVAL));
  expect(early).toMatchObject({ won: false, leader: { nodeId: 'node-a', epoch: 1 } });
  expect(await store.campaign(candidacy(0, { ...RIVAL, vacated: 1 }))).toMatchObject({
    won: true,
    term: { epoch: 2 },
    previous: { nodeId: 'node-a', epoch: 1, isGone: true },
  });
});

test('a leader that gave the shard back is seen at once', async () => {
  const { store, url } = await openTestStore();
  const leader = await TestLeader.of(store, 0);
  const rival = await openAlso(url);
  const watch = rival.whenVacant(0, never);
  await store.resign(leader.term);
  expect(await watch).toBe(1);
  const campaign = await rival.campaign(candidacy(0, { ...RIVAL, vacated: 1 }));
  expect(campaign).toMatchObject({ won: true, previous: null });
});

test('the proof is good for the epoch that it is about, and for no other', async () => {
  const { store, url } = await deserted();
  expect(await store.whenVacant(0, never)).toBe(1);
  const quick = await openPostgresStore({ url });
  const second = { nodeId: 'node-c', term: termId('c'), vacated: 1 };
  expect(await quick.campaign(candidacy(0, second))).toMatchObject({ won: true });
  await quick.close();
  expect(await store.campaign(candidacy(0, { ...RIVAL, vacated: 1 }))).toMatchObject({
    won: false,
    leader: { nodeId: 'node-c', epoch: 2 },
  });
});

test('of many candidates with the proof exactly one wins', async () => {
  const { url } = await deserted();
  const stores = await Promise.all(Array.from({ length: 6 }, () => openAlso(url)));
  const campaigns = await Promise.all(
    stores.map((store, at) =>
      store.campaign(candidacy(0, { nodeId: `n-${at}`, term: termId(`t-${at}`), vacated: 1 })),
    ),
  );
  expect(campaigns.filter(({ won }) => won)).toHaveLength(1);
});

test('a leader that lost its connection makes another at once and is not deposed', async () => {
  const { store, url } = await openTestStore();
  const leader = await TestLeader.of(store, 0);
  const rival = await openAlso(url);
  const sql = connect(url);
  for (let times = 0; times < 3; times += 1) {
    const before = await recorded(sql);
    await sql`select pg_terminate_backend(${before}, 5000)`;
    const after = await recordedAfter(sql, before ?? 0);
    expect(await holders(sql)).toEqual([{ pid: after }]);
    const campaign = await rival.campaign(candidacy(0, { ...RIVAL, vacated: 1 }));
    expect(campaign).toMatchObject({ won: false });
  }
  await leader.commit({ jobInserts: [aJob(1)] });
});

test('a leader that looks gone for a moment only is given a grace', async () => {
  const stop = new AbortController();
  const answers = [[{ epoch: 7 }], [], [{ epoch: 8 }], [{ epoch: 9 }], [{ epoch: 9 }]];
  const look = () => Promise.resolve(answers.shift() ?? []);
  expect(await whenVacant(look, 0, stop.signal)).toBe(9);
  expect(answers).toEqual([]);
});

test('a watch ends on request, also while the database is away', async () => {
  const stop = new AbortController();
  const looked = deferred();
  const watch = whenVacant(
    () => {
      looked.resolve();
      return Promise.reject(new Error('away'));
    },
    0,
    stop.signal,
  );
  await looked.promise;
  stop.abort();
  expect(await watch).toBeNull();
});

test('a leader that is stopped inside a transaction is put out when its time is up', async () => {
  const { store, url } = await openTestStore({ ttlHintMs: 2_000 });
  await TestLeader.of(store, 0);
  const paused = connect(url);
  await paused`update millrace.leader set expires_at = now(), backend_pid = pg_backend_pid(),
    backend_start = millrace.backend_start()`;
  // Not in the driver's own way, which does not survive the end of the connection.
  await paused.unsafe('begin');
  await paused`select from millrace.leader for update`;
  const campaign = await store.campaign(candidacy(0, RIVAL));
  expect(campaign).toMatchObject({ won: true, previous: { nodeId: 'node-a', isGone: false } });
});

test('a candidate without the right to end a connection goes on without', async () => {
  const { store, url } = await openTestStore();
  const leader = await TestLeader.of(store, 0);
  await store.renew(leader.term, 0, 0);
  const sql = connect(url);
  const role = `candidate_${new URL(url).pathname.slice(1)}`;
  await sql`create role ${sql(role)} login`;
  onTestFinished(async () => {
    const admin = postgres(url, { max: 1 });
    await admin`drop owned by ${admin(role)}`;
    await admin`drop role ${admin(role)}`;
    await admin.end();
  });
  await sql`grant usage on schema millrace to ${sql(role)}`;
  await sql`grant select, insert, update on millrace.leader, millrace.migration to ${sql(role)}`;
  await sql`grant select, insert, delete on millrace.term to ${sql(role)}`;
  const theirs = new URL(url);
  theirs.username = role;
  const stranger = await openPostgresStore({ url: theirs.href });
  expect(await stranger.campaign(candidacy(0, RIVAL))).toMatchObject({ won: true });
  await stranger.close();
  // The old leader's connection is still there; what it writes is refused.
  await expect(leader.commit({})).rejects.toMatchObject({ code: 'deposed' });
});

test('a leader that was deposed gives its lock back', async () => {
  const { store, url } = await openTestStore();
  const leader = await TestLeader.of(store, 0);
  const sql = connect(url);
  await sql`update millrace.leader set epoch = epoch + 1, term = 'other'`;
  await expect(store.renew(leader.term, TTL_MS, 0)).rejects.toMatchObject({ code: 'deposed' });
  // On the same connection, so that it is answered after the lock was given back.
  await expect(store.renew(leader.term, TTL_MS, 0)).rejects.toMatchObject({ code: 'deposed' });
  expect(await holders(sql)).toHaveLength(0);
});
