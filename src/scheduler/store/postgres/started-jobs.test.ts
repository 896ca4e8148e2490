import postgres from 'postgres';
import { expect, onTestFinished, test } from 'vitest';
import { openTestStore } from '../../../../test/rig/millrace-database.ts';
import { TestLeader } from '../../../../test/rig/conformance/leader.ts';
import { aJob } from '../../../../test/rig/conformance/rows.ts';
import type { JobFilter } from '../store.ts';
import type { Run } from './connection.ts';
import { listJobs } from './views.ts';

const MANY = `
  insert into millrace.job select r.*
    from millrace.job j cross join generate_series(2, 5000) g
    cross join lateral jsonb_populate_record(j, jsonb_build_object('no', g, 'id', 'x' || g, 'options',
      '{"startedBy":{"event":"e' || g % 500 || '","id":"' || g || '"}}', 'schedule_id', 's' || g % 500)) r
   where j.no = 1`;

test('the few jobs of a schedule, or that an event has started, are found in an index', async () => {
  const { store, url } = await openTestStore();
  const leader = await TestLeader.of(store, 0);
  await leader.submit(aJob(1));
  // In the tables, and not in the journal alone.
  await store.jobs(0, { limit: 1 });
  const sql = postgres(url, { max: 1 });
  onTestFinished(() => sql.end());
  await sql.unsafe(MANY);
  await sql.unsafe('analyze millrace.job');
  let plan = '';
  const run: Run = async (statement, parameters) => {
    const given = parameters as (string | number)[];
    const lines = await sql.unsafe(`explain ${statement}`, given);
    plan = lines.map((line) => String(line['QUERY PLAN'])).join('\n');
    return sql.unsafe(statement, given);
  };
  const list = async (filter: Partial<JobFilter>): Promise<readonly number[]> =>
    (await listJobs(run, 0, { limit: 2, ...filter })).map(({ no }) => Number(no));
  for (const [index, filter, expected] of [
    ['job_schedule', { schedule: 's7' }, [4_507, 4_007]],
    ['job_started_by', { startedBy: 'event/e7' }, [4_507, 4_007]],
    ['job_started_by', { startedBy: 'event/e7/7' }, [7]],
  ] as const) {
    expect(await list(filter)).toEqual(expected);
    expect(plan).toContain(index);
    expect(plan).not.toMatch(/Seq Scan|job_pkey/);
  }
});
