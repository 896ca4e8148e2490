import postgres from 'postgres';
import { expect, onTestFinished, test } from 'vitest';
import type { JobId } from '../../core/index.ts';
import { openTestStore } from '../../../../test/rig/millrace-database.ts';
import { TestLeader } from '../../../../test/rig/conformance/leader.ts';
import { aJob } from '../../../../test/rig/conformance/rows.ts';
import type { Run } from './connection.ts';
import { JOBS_BY_ID, JobRows, TAKEN_IDS } from './job-rows.ts';

const id = (text: string): JobId => text as JobId;

test('thousands of ids that are asked for at once take a few statements', async () => {
  const asked: number[] = [];
  const run: Run = async (_statement, [, list]) => {
    asked.push(String(list).split(',').length);
    await Promise.resolve();
    return [];
  };
  const jobs = new JobRows(run);
  const all = await Promise.all(
    Array.from({ length: 2_500 }, (_, at) => jobs.find(0, id(`j${at}`))),
  );
  expect(all.every((row) => row === null)).toBe(true);
  expect(asked).toEqual([1_000, 1_000, 500]);
});

test('each asker gets its own job, and a failure reaches all who shared the statement', async () => {
  const { store } = await openTestStore();
  const leader = await TestLeader.of(store, 0);
  for (const no of [1, 2, 3]) await leader.submit(aJob(no));
  const ids = ['job-3', 'none', 'job-1', 'job-1', 'null', '{a,"b"}'];
  const rows = await Promise.all(ids.map((each) => store.jobRow(0, id(each))));
  expect(rows.map((row) => row?.no ?? null)).toEqual([3, null, 1, 1, null, null]);
  expect(await store.jobRow(1, id('job-1'))).toBeNull();
  const jobs = new JobRows(() => Promise.reject(new Error('away')));
  const both = await Promise.allSettled([jobs.find(0, id('a')), jobs.find(0, id('b'))]);
  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
});

test.each([JOBS_BY_ID, TAKEN_IDS])(
  'ids are looked up in the index, also while the table has no statistics',
  async (statement) => {
    const { url } = await openTestStore();
    const sql = postgres(url, { max: 1 });
    onTestFinished(() => sql.end());
    const lines = await sql.unsafe(`explain ${statement}`, [0, ['a', 'b']]);
    const plan = lines.map((line) => String(line['QUERY PLAN'])).join('\n');
    expect(plan).toMatch(/Index (Only )?Scan using job_id on job x/);
    expect(plan).not.toMatch(/Seq Scan|job_pkey/);
  },
);
