import postgres from 'postgres';
import { expect, onTestFinished, test } from 'vitest';
import { openTestStore } from '../../../../test/rig/millrace-database.ts';
import { instant } from '../../core/index.ts';
import { TestLeader } from '../../../../test/rig/conformance/leader.ts';
import { aJob, aSpec, succeeded } from '../../../../test/rig/conformance/rows.ts';

const HOUR = 3_600_000;
const KEEP = { jobsMs: HOUR, eventsMs: HOUR, keysMs: HOUR, jobsMax: 1_000 };

test('large results hold up no commit, and go however many there are', async () => {
  // The leader's connection may take 400 ms for a statement.
  const { store, url } = await openTestStore({ ttlHintMs: 1_000 });
  const leader = await TestLeader.of(store, 0);
  const finishedAt = instant(leader.now - 2 * HOUR);
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  onTestFinished(() => sql.end());
  const jobs = Array.from({ length: 300 }, (_, at) => at + 1);
  await leader.commit({
    jobInserts: jobs.map((no) => aJob(no, { state: 'succeeded', finishedAt })),
    specInserts: jobs.map((no) => aSpec(no, 0)),
    taskInserts: jobs.map((no) => succeeded(no, 0)),
  });
  // Text that cannot be compressed: 150 MB of it.
  await sql`insert into millrace.task_result (shard, job_no, task_no, run, body)
    select 0, n, 0, 1, '"' || (select string_agg(md5(n || '.' || i), '') from generate_series(1, 16000) i) || '"'
      from generate_series(1, 300) n`;
  const held: number[] = [];
  const over = new AbortController();
  const commits = (async () => {
    while (!over.signal.aborted) {
      const startedMs = performance.now();
      await leader.commit({ events: [{}] });
      held.push(performance.now() - startedMs);
    }
  })();
  expect(await store.prune(leader.term, KEEP)).toMatchObject({ jobs: 300 });
  expect(await store.jobs(0, { limit: 10 })).toEqual([]);
  while ((await store.prune(leader.term, KEEP)).more);
  over.abort();
  await commits;
  expect(await sql`select from millrace.task_result`).toHaveLength(0);
  expect(await sql`select from millrace.task_spec`).toHaveLength(0);
  expect(await sql`select from millrace.pruned_job`).toHaveLength(0);
  // None was refused for its time, which would have failed above.
  expect(held.length).toBeGreaterThan(3);
}, 120_000);
