import postgres from 'postgres';
import { expect, onTestFinished, test } from 'vitest';
import { openTestStore } from '../../../test/fixture/millrace-database.ts';
import { instant } from '../../core/index.ts';
import type { Retention } from '../store.ts';
import { TestLeader } from '../../testing/conformance/leader.ts';
import { aJob, aSpec, succeeded } from '../../testing/conformance/rows.ts';
import { openPostgresStore } from './open.ts';

const HOUR = 3_600_000;
const KEEP: Retention = { jobsMs: HOUR, eventsMs: HOUR, keysMs: HOUR, jobsMax: 1_000 };
/** Fills the first partition and some of the second. */
const MANY = 70_000;

function connect(url: string): postgres.Sql {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  onTestFinished(() => sql.end());
  return sql;
}

const partitions = async (sql: postgres.Sql): Promise<string[]> => {
  const rows = await sql`select inhrelid::regclass::text as name from pg_inherits
    where inhparent = 'millrace.event'::regclass order by inhrelid`;
  return rows.map((row) => row['name'] as string);
};

async function oldEvents(): Promise<{ leader: TestLeader; sql: postgres.Sql }> {
  const { store, url } = await openTestStore({ ttlHintMs: 60_000 });
  const leader = await TestLeader.of(store, 0);
  const at = instant(leader.now - 2 * HOUR);
  await leader.commit({ events: Array.from({ length: MANY }, () => ({ at })) });
  await leader.commit({ events: [{ at: leader.now }] });
  return { leader, sql: connect(url) };
}

test('old events go by the partition, and there is always one ahead', async () => {
  const { leader, sql } = await oldEvents();
  const { store, term } = leader;
  expect(await partitions(sql)).toEqual([
    'millrace.event_0_1',
    'millrace.event_0_65537',
    'millrace.event_0_196609',
  ]);
  expect(await store.prune(term, KEEP)).toMatchObject({ events: MANY });
  expect(await partitions(sql)).toEqual(['millrace.event_0_65537', 'millrace.event_0_196609']);
  await expect(store.events(0, MANY - 1, 9)).rejects.toMatchObject({ code: 'not_found' });
  const kept = await store.events(0, MANY, 9);
  expect(kept.map((event) => event.seq)).toEqual([MANY + 1]);
  expect(await store.prune(term, KEEP)).toEqual({ jobs: 0, events: 0, keys: 0, more: false });
}, 60_000);

test('a reader of the log is not waited for: its partition goes the next time', async () => {
  const { leader, sql } = await oldEvents();
  const { store, term } = leader;
  await sql.begin(async (tx) => {
    await tx`select from millrace.event limit 1`;
    expect(await store.prune(term, KEEP)).toMatchObject({ events: MANY });
    await leader.commit({ events: [{}] });
  });
  expect(await partitions(sql)).toContain('millrace.event_0_1');
  await store.prune(term, KEEP);
  expect(await partitions(sql)).not.toContain('millrace.event_0_1');
}, 60_000);

test('new partitions are made while somebody reads the log', async () => {
  const { store, url } = await openTestStore({ ttlHintMs: 60_000 });
  const leader = await TestLeader.of(store, 0);
  await leader.commit({ events: [{}] });
  const sql = connect(url);
  await sql.begin(async (tx) => {
    await tx`select from millrace.event`;
    await leader.commit({ events: Array.from({ length: MANY }, () => ({})) });
  });
  expect(await partitions(sql)).toHaveLength(3);
}, 60_000);

test('a few large jobs are enough for one call', async () => {
  const { store } = await openTestStore();
  const leader = await TestLeader.of(store, 0);
  const finishedAt = instant(leader.now - 2 * HOUR);
  for (let no = 1; no <= 3; no += 1) {
    const job = aJob(no, { state: 'succeeded', finishedAt, taskCount: 15_000 });
    await leader.submit(job, [aSpec(no, 0)], [succeeded(no, 0)]);
  }
  expect(await store.prune(leader.term, KEEP)).toMatchObject({ jobs: 1, more: true });
  expect(await store.prune(leader.term, KEEP)).toMatchObject({ jobs: 1, more: true });
  expect(await store.prune(leader.term, KEEP)).toMatchObject({ jobs: 1, more: false });
});

test('a job of a hundred thousand tasks is removed although the line is in a hurry', async () => {
  const { store, url } = await openTestStore();
  const leader = await TestLeader.of(store, 0);
  const tasks = Array.from({ length: 100_000 }, (_, no) => no);
  const finishedAt = instant(leader.now - 2 * HOUR);
  await leader.submit(
    aJob(1, { state: 'succeeded', finishedAt, taskCount: tasks.length }),
    tasks.map((no) => aSpec(1, no)),
    tasks.map((no) => succeeded(1, no)),
  );
  const hurried = await openPostgresStore({ url, ttlHintMs: 250 });
  onTestFinished(() => hurried.close());
  expect(await hurried.prune(leader.term, KEEP)).toMatchObject({ jobs: 1, more: false });
}, 60_000);
