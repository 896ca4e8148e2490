/** A transaction that takes longer than the leader's TTL, with others who would like to lead. */
import postgres from 'postgres';
import { expect, onTestFinished, test } from 'vitest';
import { openTestStore } from '../../../../test/rig/millrace-database.ts';
import type { Instant } from '../../core/index.ts';
import { systemClock } from '../../../kit/index.ts';
import { candidacy, TestLeader } from '../../../../test/rig/conformance/leader.ts';
import { aJob, termId } from '../../../../test/rig/conformance/rows.ts';
import { startPooler } from '../../../../test/rig/cluster/pooler.ts';
import type { Campaign } from '../store.ts';
import { openPostgresStore, type PostgresStore } from './open.ts';

const TTL_MS = 2_000;
const RIVAL = { nodeId: 'node-b', term: termId('b'), ttlMs: TTL_MS };
/** A record of 22 MiB. */
const LARGE = aJob(1, { output: JSON.stringify('x'.repeat(22 * 1024 * 1024)) });

function connect(url: string): postgres.Sql {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  onTestFinished(() => sql.end());
  return sql;
}

async function openAlso(url: string): Promise<PostgresStore> {
  const store = await openPostgresStore({ url, ttlHintMs: TTL_MS });
  onTestFinished(() => store.close());
  return store;
}

async function leaderOn(store: PostgresStore): Promise<TestLeader> {
  const campaign = await store.campaign(candidacy(0, { ttlMs: TTL_MS }));
  if (!campaign.won) throw new Error('somebody else leads');
  return new TestLeader(store, campaign.term, campaign.now);
}

/** Campaigns again and again for longer than the TTL, while nobody can write a job. */
async function campaignDuring(
  sql: postgres.Sql,
  rival: PostgresStore,
  act: () => Promise<Instant>,
): Promise<{ campaign: Campaign; committed: Promise<Instant> }> {
  return sql.begin(async (tx) => {
    await tx`lock table millrace.journal_0 in share mode`;
    const committed = act();
    committed.catch(() => {});
    await waiting(tx);
    const untilMs = systemClock.monotonicMs() + TTL_MS * 1.1;
    let campaign = await rival.campaign(candidacy(0, RIVAL));
    while (!campaign.won && systemClock.monotonicMs() < untilMs) {
      campaign = await rival.campaign(candidacy(0, RIVAL));
    }
    return { campaign, committed };
  });
}

/** Until the commit has come to the lock. */
async function waiting(sql: Pick<postgres.Sql, 'unsafe'>): Promise<number> {
  for (;;) {
    const [row] = await sql.unsafe(`select pid from pg_locks where not granted
      and relation = 'millrace.journal_0'::regclass`);
    if (row !== undefined) return row['pid'] as number;
  }
}

const expiryOf = async (sql: postgres.Sql): Promise<number> => {
  const [row] = await sql`select extract(epoch from expires_at - clock_timestamp()) * 1000 as ms
    from millrace.leader where shard = 0`;
  return Number(row?.['ms']);
};

for (const way of ['on its own connection', 'behind a pooler']) {
  test(`a leader ${way} survives a commit that is longer than its TTL`, async () => {
    const { store: rival, url } = await openTestStore({ ttlHintMs: TTL_MS });
    const theirs = way === 'behind a pooler' ? (await startPooler(url)).url : url;
    const store = await openAlso(theirs);
    const leader = await leaderOn(store);
    const sql = connect(url);
    const batch = leader.batch({ jobInserts: [LARGE] });
    const commit = () => store.commit(leader.term, TTL_MS, batch);
    const { campaign, committed } = await campaignDuring(sql, rival, commit);
    expect(campaign).toMatchObject({ won: false, leader: { nodeId: 'node-a' } });
    await committed;
    // Its time was not used up by the commit, and from now on it is the usual one.
    expect(await expiryOf(sql)).toBeGreaterThan(TTL_MS);
    await store.renew(leader.term, TTL_MS, 0);
    expect(await expiryOf(sql)).toBeLessThanOrEqual(TTL_MS);
  });
}

test('a short commit asks for no more than the usual time', async () => {
  const { store, url } = await openTestStore({ ttlHintMs: TTL_MS });
  const leader = await leaderOn(store);
  await store.commit(leader.term, TTL_MS, leader.batch({ jobInserts: [aJob(1)] }));
  expect(await expiryOf(connect(url))).toBeLessThanOrEqual(TTL_MS);
});

test('a leader that steps down after a long commit has failed keeps nobody waiting', async () => {
  const { store: rival, url } = await openTestStore({ ttlHintMs: TTL_MS });
  const store = await openAlso(url);
  const leader = await leaderOn(store);
  const sql = connect(url);
  const batch = leader.batch({ jobInserts: [LARGE] });
  await sql.begin(async (tx) => {
    await tx`lock table millrace.journal_0 in share mode`;
    const lost = store.commit(leader.term, TTL_MS, batch).catch((error: unknown) => error);
    const pid = await waiting(tx);
    await tx`select pg_terminate_backend(${pid}, 5000)`;
    expect(await lost).toMatchObject({ code: 'outcome_unknown' });
  });
  expect(await expiryOf(sql)).toBeGreaterThan(TTL_MS);
  await store.resign(leader.term);
  const campaign = await rival.campaign(candidacy(0, RIVAL));
  expect(campaign).toMatchObject({ won: true, previous: null });
});

test('a leader that dies in a long commit is replaced by proof, not by the longer time', async () => {
  const { store: rival, url } = await openTestStore({ ttlHintMs: TTL_MS });
  const store = await openPostgresStore({ url, ttlHintMs: TTL_MS });
  const leader = await leaderOn(store);
  const sql = connect(url);
  const batch = leader.batch({ jobInserts: [LARGE] });
  await sql.begin(async (tx) => {
    await tx`lock table millrace.journal_0 in share mode`;
    const lost = store.commit(leader.term, TTL_MS, batch).catch((error: unknown) => error);
    const pid = await waiting(tx);
    const closed = store.close();
    await tx`select pg_terminate_backend(${pid}, 5000)`;
    await Promise.all([lost, closed]);
  });
  expect(await rival.whenVacant(0, new AbortController().signal)).toBe(1);
  expect(await expiryOf(sql)).toBeGreaterThan(TTL_MS);
  const campaign = await rival.campaign(candidacy(0, { ...RIVAL, vacated: 1 }));
  expect(campaign).toMatchObject({ won: true, previous: { nodeId: 'node-a', isGone: true } });
});

test('a prune asks for no more than the usual time, however large the job', async () => {
  const { store, url } = await openTestStore({ ttlHintMs: TTL_MS });
  const leader = await leaderOn(store);
  const finished = { state: 'succeeded', finishedAt: leader.now, taskCount: 30_000 } as const;
  await store.commit(leader.term, TTL_MS, leader.batch({ jobInserts: [aJob(1, finished)] }));
  // Old enough at once: whatever has ended before tomorrow.
  const retention = { jobsMs: -86_400_000, eventsMs: 86_400_000, keysMs: 86_400_000, jobsMax: 9 };
  expect(await store.prune(leader.term, retention)).toMatchObject({ jobs: 1 });
  expect(await expiryOf(connect(url))).toBeLessThanOrEqual(TTL_MS);
});
