/** The journal in the database: bounded, readable by other processes, and folded by whoever comes first. */
import postgres from 'postgres';
import { expect, onTestFinished, test } from 'vitest';
import { candidacy, TestLeader } from '../../../../test/rig/conformance/leader.ts';
import {
  aJob,
  aSpec,
  aTask,
  jobId,
  running,
  termId,
} from '../../../../test/rig/conformance/rows.ts';
import { millraceDatabase } from '../../../../test/rig/millrace-database.ts';
import { openPostgresStore, type PostgresStore } from './open.ts';

/** Longer than the test: nothing is folded unless somebody asks for the tables. */
const NEVER_MS = 600_000;
const MIB = 1024 * 1024;

async function twoStores(): Promise<{ a: PostgresStore; b: PostgresStore; sql: postgres.Sql }> {
  const database = await millraceDatabase();
  const { url } = database;
  onTestFinished(() => database.drop());
  const open = async (): Promise<PostgresStore> => {
    const store = await openPostgresStore({ url, foldAfterMs: NEVER_MS });
    onTestFinished(() => store.close());
    return store;
  };
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  onTestFinished(() => sql.end());
  return { a: await open(), b: await open(), sql };
}

const rowsOf = async (sql: postgres.Sql, table: string): Promise<number> => {
  const [row] = await sql.unsafe(`select count(*)::int as rows from millrace.${table}`);
  return row?.['rows'] as number;
};

test('another process reads a commit that is only in the journal, and lists it after a fold of its own', async () => {
  const { a, b, sql } = await twoStores();
  const leader = await TestLeader.of(a, 0);
  await leader.submit(aJob(1), [aSpec(1, 0)], [aTask(1, 0)]);
  await leader.commit({ taskUpdates: [running(1, 0)], events: [{ kind: 'assigned' }] });
  expect(await rowsOf(sql, 'job')).toBe(0);
  const view = await b.job(0, jobId('job-1'));
  expect(view?.tasks.map(({ task }) => task.state)).toEqual(['running']);
  expect(await b.events(0, 0, 9)).toEqual(await a.events(0, 0, 9));
  expect(await rowsOf(sql, 'job')).toBe(0);
  expect((await b.jobs(0, { limit: 9 })).map(({ id }) => id)).toEqual(['job-1']);
  expect(await rowsOf(sql, 'job')).toBe(1);
  // The leader did not fold it. It goes on from where the tables are.
  await leader.submit(aJob(2));
  expect((await a.jobs(0, { limit: 9 })).map(({ id }) => id)).toEqual(['job-2', 'job-1']);
  expect(await b.lastSeq(0)).toMatchObject({ seq: leader.lastSeq });
});

test('a reader who follows the journal sees each commit, before and after folds', async () => {
  const { a, b } = await twoStores();
  const leader = await TestLeader.of(a, 0);
  for (let no = 1; no <= 30; no += 1) {
    await leader.submit(aJob(no));
    expect((await b.jobRow(0, jobId(`job-${no}`)))?.no).toBe(no);
    if (no % 7 === 0) await a.nodes(0);
    expect((await b.jobRow(0, jobId('job-1')))?.no).toBe(1);
  }
});

test('what a deposed leader has left is folded by the next one, once', async () => {
  const { a, b, sql } = await twoStores();
  const leader = await TestLeader.of(a, 0);
  await leader.submit(aJob(1), [aSpec(1, 0)], [aTask(1, 0)]);
  // As if its process were paused for longer than its time: it knows nothing of its end.
  await sql`update millrace.leader set expires_at = now() - interval '1 second', backend_pid = null`;
  const campaign = await b.campaign(candidacy(0, { term: termId('next') }));
  if (!campaign.won) throw new Error('the time of the first leader is over');
  const next = new TestLeader(b, campaign.term, campaign.now);
  next.commitNo = leader.commitNo;
  next.nextJobNo = leader.nextJobNo;
  await next.submit(aJob(2));
  expect((await b.jobs(0, { limit: 9 })).map(({ id }) => id)).toEqual(['job-2', 'job-1']);
  await expect(leader.submit(aJob(3))).rejects.toMatchObject({ code: 'deposed' });
  expect((await a.jobs(0, { limit: 9 })).map(({ id }) => id)).toEqual(['job-2', 'job-1']);
});

test('the journal does not grow while a transaction elsewhere keeps old rows alive', async () => {
  const { a, sql } = await twoStores();
  const leader = await TestLeader.of(a, 0);
  const output = JSON.stringify('x'.repeat(MIB));
  await sql.begin('isolation level repeatable read', async (tx) => {
    await tx`select from millrace.leader`;
    for (let no = 1; no <= 80; no += 1) {
      await leader.submit(aJob(no, { output }));
      if (no % 4 === 0) await a.nodes(0);
    }
  });
  const [row] = await sql`select (pg_total_relation_size('millrace.journal_0')
    + pg_total_relation_size('millrace.journal_1'))::int as bytes`;
  expect(row?.['bytes']).toBeLessThan(48 * MIB);
  expect(await rowsOf(sql, 'job')).toBe(80);
}, 120_000);
