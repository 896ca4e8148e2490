/** Jobs that a fold has left out are in the journal alone: other processes, the next leader and a migration find them there. */
import postgres from 'postgres';
import { expect, onTestFinished, test } from 'vitest';
import { candidacy, TestLeader } from '../../../../test/rig/conformance/leader.ts';
import { aJob, aSpec, aTask, jobId, termId } from '../../../../test/rig/conformance/rows.ts';
import { millraceDatabase } from '../../../../test/rig/millrace-database.ts';
import { jobNo, taskNo } from '../../core/index.ts';
import { migratePostgres, openPostgresStore } from './open.ts';

async function open() {
  const database = await millraceDatabase();
  const { url } = database;
  onTestFinished(() => database.drop());
  const opened = async () => {
    const store = await openPostgresStore({ url });
    onTestFinished(() => store.close());
    return store;
  };
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  onTestFinished(() => sql.end());
  const store = await opened();
  const leader = await TestLeader.of(store, 0);
  /**
   * Submits one job after the other, until a fold has left some out, and says how many the tables have then. The leader
   * folds the rest as soon as it is quiet, so nobody can say how many they have later.
   */
  const submitted = async (): Promise<{ readonly last: number; readonly before: number }> => {
    for (let no = 1; ; no += 1) {
      const events = ['created', 'queued'].map((kind) => ({
        ...{ kind: kind as 'created', jobNo: jobNo(no), taskNo: taskNo(0) },
      }));
      await leader.commit({
        ...{ jobInserts: [aJob(no)], specInserts: [aSpec(no, 0)], taskInserts: [aTask(no, 0)] },
        events,
      });
      const [fold] =
        await sql`select (select count(*)::int from millrace.job) as jobs from millrace.journal_fold where settled_no < commit_no`;
      if (fold !== undefined) return { last: no, before: fold['jobs'] as number };
    }
  };
  const stored = async (): Promise<number> => {
    const [row] = await sql`select count(*)::int as jobs from millrace.job`;
    return row?.['jobs'] as number;
  };
  /** As if its process had been stopped there: it knows nothing of its end. */
  const stopped = () =>
    sql`update millrace.leader set expires_at = now() - interval '1 second', backend_pid = null, released = true`;
  return { url, sql, store, opened, leader, submitted, stored, stopped };
}

test('another process reads them, and the next leader has all of them with all their events', async () => {
  const { sql, opened, leader, submitted, stored, stopped } = await open();
  const { last, before } = await submitted();
  const other = await opened();
  for (const no of [1, last]) {
    expect((await other.job(0, jobId(`job-${no}`)))?.job).toEqual(aJob(no));
  }
  await stopped();
  const campaign = await other.campaign(candidacy(0, { term: termId('next') }));
  if (!campaign.won) throw new Error('the time of the first leader is over');
  const jobs = await other.loadJobs(0, 2, jobNo(1), last + 1);
  expect(await stored()).toBe(last);
  expect(before).toBeLessThan(last);
  expect(jobs.jobs).toHaveLength(last);
  for (const no of [1, Math.ceil(last / 2), last]) {
    const events = await other.events(0, 0, 9, jobId(`job-${no}`));
    expect(events.map(({ kind }) => kind)).toEqual(['created', 'queued']);
  }
  const [fold] = await sql`select settled_no from millrace.journal_fold`;
  expect(fold?.['settled_no']).toBeNull();
  await expect(leader.commit({})).rejects.toMatchObject({ code: 'deposed' });
}, 60_000);

test('the way down brings them into the tables first', async () => {
  const { url, submitted, stored, stopped } = await open();
  const { last, before } = await submitted();
  await stopped();
  expect(before).toBeLessThan(last);
  await migratePostgres({ url }, (all) => all.down(28));
  expect(await stored()).toBe(last);
  await migratePostgres({ url }, (all) => all.up());
}, 60_000);
