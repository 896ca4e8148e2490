import postgres from 'postgres';
import { expect, onTestFinished, test } from 'vitest';
import { openTestStore } from '../millrace-database.ts';
import { openPostgresStore } from '../../../src/scheduler/store/index.ts';
import { TestLeader } from '../conformance/leader.ts';
import { aJob } from '../conformance/rows.ts';
import { LossyDatabase } from './lost-answer.ts';

test('a commit whose answer is lost is done, and its leader does not know', async () => {
  const { store: other, url } = await openTestStore();
  const way = await LossyDatabase.start(url);
  const store = await openPostgresStore({ url: way.url });
  onTestFinished(() => store.close());
  const leader = await TestLeader.of(store, 0);
  await leader.commit({ jobInserts: [aJob(1)] });
  const lost = way.loseAnswer();
  // Neither a renewal nor a read is meant.
  await store.renew(leader.term, 10_000, 0);
  await store.jobs(0, { limit: 1 });
  const outcome = leader.commit({ jobInserts: [aJob(2)] });
  await expect(outcome).rejects.toMatchObject({ code: 'outcome_unknown' });
  expect(await lost).toBe('done');
  expect((await other.jobs(0, { limit: 9 })).map((job) => job.no)).toEqual([2, 1]);
  // Once only: the answer to the next one is heard. It does not follow on what the leader knows, so it is refused.
  const next = leader.commit({ jobInserts: [aJob(3)] });
  await expect(next).rejects.toMatchObject({ code: 'rewound' });
});

test('a statement that was refused is distinguished from one that was done', async () => {
  const { url } = await openTestStore();
  const way = await LossyDatabase.start(url);
  const sql = postgres(way.url, { max: 1, fetch_types: false });
  onTestFinished(() => sql.end({ timeout: 0 }));
  const lost = way.loseAnswer((statement) => statement.includes('1/0'));
  await expect(sql`select 1/0`).rejects.toThrow(/CONNECTION_CLOSED|ECONNRESET/);
  expect(await lost).toBe('refused');
  const simple = way.loseAnswer((statement) => statement === 'commit');
  await expect(sql.unsafe('commit')).rejects.toThrow(/CONNECTION_CLOSED|ECONNRESET/);
  expect(await simple).toBe('done');
});
