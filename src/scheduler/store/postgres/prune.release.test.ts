import postgres from 'postgres';
import { expect, onTestFinished, test } from 'vitest';
import { openTestStore } from '../../../../test/rig/millrace-database.ts';
import { instant } from '../../core/index.ts';
import { TestLeader } from '../../../../test/rig/conformance/leader.ts';
import { aJob, aSpec, succeeded } from '../../../../test/rig/conformance/rows.ts';
import type { Retention, Store, Term } from '../store.ts';

const HOUR = 3_600_000;
const KEEP: Retention = { jobsMs: HOUR, eventsMs: HOUR, keysMs: HOUR, jobsMax: 1_000 };
/** A hundred chunks and some more. */
const MANY = 50_100;

function connect(url: string): postgres.Sql {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  onTestFinished(() => sql.end());
  return sql;
}

/** The tables have all that was committed: only they can list nodes. */
const followed = async (store: Store): Promise<void> => void (await store.nodes(0));

async function pruneAll(store: Store, term: Term): Promise<void> {
  let { more } = await store.prune(term, KEEP);
  while (more) ({ more } = await store.prune(term, KEEP));
}

const chunks = async (sql: postgres.Sql): Promise<[number, number][]> => {
  const rows = await sql`select first_seq::int as first, last_seq::int as last
    from millrace.event_chunk order by last_seq`;
  return rows.map((row) => [row['first'] as number, row['last'] as number]);
};

async function oldEvents(): Promise<{ leader: TestLeader; sql: postgres.Sql }> {
  const { store, url } = await openTestStore({ ttlHintMs: 60_000 });
  const leader = await TestLeader.of(store, 0);
  const at = instant(leader.now - 2 * HOUR);
  const events = Array.from({ length: MANY }, () => ({ at }));
  await leader.commit({ events: [...events, { at: leader.now }] });
  await leader.commit({ events: [{ at: leader.now }] });
  await followed(store);
  return { leader, sql: connect(url) };
}

test('old events go by the chunk; one that is old in part stays and shows the rest', async () => {
  const { leader, sql } = await oldEvents();
  const { store, term } = leader;
  expect(await chunks(sql)).toHaveLength(102);
  expect(await store.prune(term, KEEP)).toMatchObject({ events: MANY, more: false });
  expect(await chunks(sql)).toEqual([
    [50_001, 50_101],
    [50_102, 50_102],
  ]);
  await expect(store.events(0, MANY - 1, 9)).rejects.toMatchObject({ code: 'not_found' });
  const kept = await store.events(0, MANY, 9);
  expect(kept.map((event) => event.seq)).toEqual([MANY + 1, MANY + 2]);
  expect(await store.prune(term, KEEP)).toEqual({ jobs: 0, events: 0, keys: 0, more: false });
}, 60_000);

test('a reader of the log holds up neither a prune nor a commit', async () => {
  const { leader, sql } = await oldEvents();
  await sql.begin(async (tx) => {
    await tx`select from millrace.event_chunk`;
    expect(await leader.store.prune(leader.term, KEEP)).toMatchObject({ events: MANY });
    await leader.commit({ events: [{}] });
    await followed(leader.store);
  });
  expect(await chunks(sql)).toHaveLength(3);
}, 60_000);

test('a long log goes in portions', async () => {
  const { store, url } = await openTestStore();
  const leader = await TestLeader.of(store, 0);
  await leader.commit({ events: [{}] });
  const sql = connect(url);
  await sql`insert into millrace.event_chunk (shard, first_seq, last_seq, at, body)
    select 0, n, n, now() - interval '2 hours', '[0,0,null,null,null,null,null,null,null]'
      from generate_series(2, 10500) n`;
  await sql`update millrace.event_chunk set at = now() - interval '2 hours'`;
  await sql`update millrace.leader set last_seq = 10500`;
  expect(await store.prune(leader.term, KEEP)).toMatchObject({ events: 500, more: true });
  await pruneAll(store, leader.term);
  expect(await chunks(sql)).toEqual([]);
  expect(await store.events(0, 10_500, 9)).toEqual([]);
});

test('what handlers completed by themselves goes by age, unless its job is live', async () => {
  const { store, url } = await openTestStore();
  const leader = await TestLeader.of(store, 0);
  const finishedAt = instant(leader.now - HOUR / 2);
  await leader.submit(aJob(1));
  await leader.submit(aJob(2, { state: 'succeeded', finishedAt }));
  const sql = connect(url);
  const complete = (job: string, run: number) => sql`
    insert into millrace.completion (job, task, run, result) values (${job}, 'a', ${run}, '{"n": 1.0}')
    on conflict do nothing returning result`;
  expect(await complete('job-1', 1)).toEqual([{ result: '{"n": 1.0}' }]);
  expect(await complete('job-1', 1)).toEqual([]);
  await complete('job-2', 1);
  await complete('gone', 1);
  await sql`update millrace.completion set completed_at = now() - interval '2 hours'`;
  await complete('job-2', 2);
  expect(await store.prune(leader.term, KEEP)).toMatchObject({ jobs: 0, more: false });
  const left = () => sql`select job, run from millrace.completion order by job, run`;
  expect([...(await left())]).toEqual([
    { job: 'job-1', run: 1 },
    { job: 'job-2', run: 2 },
  ]);
  await leader.commit({ jobUpdates: [aJob(1, { state: 'succeeded', finishedAt })] });
  await store.prune(leader.term, KEEP);
  expect([...(await left())]).toEqual([{ job: 'job-2', run: 2 }]);
  await sql`insert into millrace.completion (job, task, run, completed_at)
    select 'gone', n::text, 1, now() - interval '2 hours' from generate_series(1, 1500) n`;
  expect(await store.prune(leader.term, KEEP)).toMatchObject({ more: true });
  await pruneAll(store, leader.term);
  expect(await left()).toHaveLength(1);
});

test('a leader that was deposed forgets no completion', async () => {
  const { store, url } = await openTestStore();
  const leader = await TestLeader.of(store, 0);
  const sql = connect(url);
  await sql`insert into millrace.completion (job, task, run, completed_at)
    values ('gone', 'a', 1, now() - interval '2 hours')`;
  await store.resign(leader.term);
  await expect(store.prune(leader.term, KEEP)).rejects.toMatchObject({ code: 'deposed' });
  expect(await sql`select from millrace.completion`).toHaveLength(1);
});

test('what is left of a pruned job is not exported', async () => {
  const { store, url } = await openTestStore();
  const leader = await TestLeader.of(store, 0);
  const finishedAt = instant(leader.now - 2 * HOUR);
  await leader.submit(
    aJob(1, { state: 'succeeded', finishedAt }),
    [aSpec(1, 0)],
    [succeeded(1, 0)],
  );
  await followed(store);
  const sql = connect(url);
  await sql`delete from millrace.job`;
  await sql`insert into millrace.pruned_job values (0, 1)`;
  const tables: string[] = [];
  for await (const { table } of store.dump()) tables.push(table);
  expect(tables.filter((table) => table !== 'event')).toEqual(['counters']);
});

test('a job of a hundred thousand tasks is gone at once and swept afterwards', async () => {
  const { store, url } = await openTestStore();
  const leader = await TestLeader.of(store, 0);
  const tasks = Array.from({ length: 100_000 }, (_, no) => no);
  const finishedAt = instant(leader.now - 2 * HOUR);
  await leader.submit(
    aJob(1, { state: 'succeeded', finishedAt, taskCount: tasks.length }),
    tasks.map((no) => aSpec(1, no)),
    tasks.map((no) => succeeded(1, no)),
  );
  expect(await store.prune(leader.term, KEEP)).toMatchObject({ jobs: 1 });
  await pruneAll(store, leader.term);
  expect(await connect(url)`select from millrace.task limit 1`).toHaveLength(0);
}, 60_000);

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
