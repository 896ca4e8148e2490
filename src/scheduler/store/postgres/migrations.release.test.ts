import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import postgres from 'postgres';
import { expect, onTestFinished, test } from 'vitest';
import { millraceDatabase } from '../../../../test/rig/millrace-database.ts';
import { freshDatabase } from '../../../../test/rig/postgres.ts';
import { TestLeader } from '../../../../test/rig/conformance/leader.ts';
import { AT, aJob, aSignal, aSpec, aTask, jobId } from '../../../../test/rig/conformance/rows.ts';
import {
  type EventRow,
  instant,
  type JobNo,
  jobNo,
  LOG_KINDS,
  type NodeId,
} from '../../core/index.ts';
import { type EventChunk, eventsIn } from '../event-chunk.ts';
import { migratePostgres, openPostgresStore } from './open.ts';

async function emptyDatabase(): Promise<string> {
  const database = await freshDatabase();
  onTestFinished(() => database.drop());
  return database.url;
}

function connect(url: string): postgres.Sql {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  onTestFinished(() => sql.end());
  return sql;
}

/** Everything that a migration may leave in a database. */
async function contentOf(url: string): Promise<string[]> {
  const rows = await connect(url)`
    select 'table ' || c.oid::regclass as name from pg_class c where relnamespace::regnamespace::text = 'millrace'
    union select 'function ' || oid::regprocedure from pg_proc where pronamespace::regnamespace::text = 'millrace'
    union select 'schema ' || nspname from pg_namespace where nspname = 'millrace'`;
  return rows.map((row) => row['name'] as string).toSorted();
}

const up = (url: string, to?: number) => migratePostgres({ url }, (all) => all.up(to));
const down = (url: string, to?: number) => migratePostgres({ url }, (all) => all.down(to));
const status = (url: string) => migratePostgres({ url }, (all) => all.status());

test('ten processes that start at once on an empty database migrate it once', async () => {
  const url = await emptyDatabase();
  const open = new URL('open.ts', import.meta.url).href;
  const script = `
    import { openPostgresStore } from ${JSON.stringify(open)};
    const store = await openPostgresStore({ url: ${JSON.stringify(url)}, migrate: true });
    console.log((await store.loadCluster(0)).nextJobNo);
    await store.close();`;
  const args = ['--import', 'tsx', '--input-type=module', '--eval', script];
  const runs = Array.from({ length: 10 }, () => promisify(execFile)(process.execPath, args));
  const answers = await Promise.all(runs);
  expect(answers.map(({ stdout }) => stdout)).toEqual(Array.from({ length: 10 }, () => '1\n'));
  const { latest } = await status(url);
  const ledger = await connect(url)`select version from millrace.migration order by version`;
  expect(ledger.map((row) => row['version'] as number)).toEqual(
    Array.from({ length: latest }, (_, at) => at + 1),
  );
}, 60_000);

test('up and down, step by step, leave nothing behind in an empty database', async () => {
  const url = await emptyDatabase();
  expect(await status(url)).toMatchObject({ current: 0 });
  const { latest } = await up(url);
  const full = await contentOf(url);
  for (let version = latest - 1; version >= 0; version -= 1) {
    expect(await down(url)).toMatchObject({ current: version });
  }
  expect(await contentOf(url)).toEqual([]);
  expect(await down(url)).toMatchObject({ current: 0 });
  for (let version = 1; version <= latest; version += 1) {
    expect(await up(url, version)).toMatchObject({ current: version });
  }
  expect(await contentOf(url)).toEqual(full);
});

test('a filled database goes down to nothing and up again', async () => {
  const url = await emptyDatabase();
  const store = await openPostgresStore({ url, migrate: true });
  const leader = await TestLeader.of(store, 0);
  await leader.submit(aJob(1), [aSpec(1, 0)], [aTask(1, 0)]);
  await leader.commit({ events: [{}, {}] });
  await store.resign(leader.term);
  await store.close();
  await down(url, 0);
  expect(await contentOf(url)).toEqual([]);
  const again = await openPostgresStore({ url, migrate: true });
  onTestFinished(() => again.close());
  expect(await again.jobs(0, { limit: 9 })).toEqual([]);
});

test('a migration leaves the rows of an older version where they are', async () => {
  const url = await emptyDatabase();
  await up(url, 1);
  await connect(url)`insert into millrace.inbox (shard, job_id, document) values (0, 'j', '{}')`;
  await up(url);
  const store = await openPostgresStore({ url });
  onTestFinished(() => store.close());
  expect(await store.inbox(0, 9)).toEqual([{ no: 1, jobId: 'j', document: '{}' }]);
});

test('slots and prefetch are separated, and added up again on the way down', async () => {
  const url = await emptyDatabase();
  await up(url, 11);
  const sql = connect(url);
  const insert = (id: string, slots: number, capabilities: string) =>
    sql`insert into millrace.node (shard, id, session_id, status, draining, slots, executors, capabilities,
        version, registered_at, seen_at)
      values (0, ${id}, 's', 'healthy', false, ${slots}, '{}', ${capabilities}, '0', now(), now())`;
  await insert('a', 508, '{"slots":8,"os":"linux"}');
  await insert('b', 4, '{"note":"a \\"slots\\":1"}');
  await insert('c', 3, '{"slots":9}');
  await up(url);
  const store = await openPostgresStore({ url });
  const nodes = await store.nodes(0);
  await store.close();
  expect(nodes.map(({ id, slots, prefetch }) => [id, slots, prefetch])).toEqual([
    ['a', 8, 500],
    ['b', 4, 0],
    ['c', 3, 0],
  ]);
  await down(url, 11);
  const rows = await sql`select slots, capabilities from millrace.node order by id`;
  expect(rows.map((row) => row['slots'] as number)).toEqual([508, 4, 3]);
  expect(rows[1]?.['capabilities']).toBe('{"slots":4,"note":"a \\"slots\\":1"}');
});

test('events become chunks and chunks events again, to the letter', async () => {
  const url = await emptyDatabase();
  await up(url, 5);
  const sql = connect(url);
  await sql`insert into millrace.leader (shard, epoch, term, node_id, expires_at, first_seq, last_seq)
    values (0, 1, 't', 'n', now(), 1, 0), (3, 1, 't', 'n', now(), 700, 1201)`;
  await sql`select millrace.make_events(3::smallint, 1, 2000)`;
  await sql`insert into millrace.event (shard, seq, at, kind, job_no, task_no, node_id, run, attempt, fence, detail)
    select 3, i + 1, timestamptz '275760-09-13 00:00:00+00' - i % 3 * interval '1 millisecond', i % 30,
           case when i % 7 > 0 then 9007199254740990 - i % 5 end, case when i % 2 = 0 then i end,
           case when i % 3 = 0 then 'w-' || i end, 1, case when i % 4 = 0 then i end, 2147483647,
           case when i % 5 = 0 then '"\\u0000 ''ü"' end
      from generate_series(600, 1200) i`;
  const stored = () => sql`select * from millrace.event where seq >= 700 order by shard, seq`;
  const before = [...(await stored())];
  expect(before).toHaveLength(502);
  await up(url);
  const store = await openPostgresStore({ url });
  await expect(store.events(3, 698, 9)).rejects.toMatchObject({ code: 'not_found' });
  const events = await store.events(3, 699, 1_000);
  expect(events.map((event) => event.seq)).toEqual(
    Array.from({ length: 502 }, (_, at) => at + 700),
  );
  expect(events[1]).toMatchObject({ at: 8_639_999_999_999_999, detail: '"\\u0000 \'ü"' });
  expect(events[2]).toMatchObject({ jobNo: 9_007_199_254_740_989, attempt: null, nodeId: null });
  await store.close();
  await down(url, 5);
  expect([...(await stored())]).toEqual(before);
});

test('an older version can read a log in which queues were paused', async () => {
  const url = await emptyDatabase();
  const store = await openPostgresStore({ url, migrate: true });
  const leader = await TestLeader.of(store, 0);
  const kinds = async (...list: readonly EventRow['kind'][]): Promise<void> => {
    await leader.commit({ events: list.map((kind) => ({ kind, detail: '[38,39]', run: 38 })) });
    // A chunk for each commit.
    await store.nodes(0);
  };
  await kinds('queue.paused');
  await kinds('created', 'queue.paused', 'started', 'queue.resumed');
  await kinds('created', 'started');
  await store.close();
  await connect(url)`update millrace.leader set released = true`;
  const bodies = async (): Promise<readonly string[]> => {
    const rows = await connect(url)`select body from millrace.event_chunk order by first_seq`;
    return rows.map((row) => row['body'] as string);
  };
  const before = await bodies();
  const at = (kind: EventRow['kind']): number => LOG_KINDS.indexOf(kind);
  const [paused, resumed] = [at('queue.paused'), at('queue.resumed')];
  expect(before[0]).toMatch(new RegExp(`^\\[${paused},`));
  expect(before[1]).toMatch(new RegExp(`^\\[\\[0,${paused},3,${resumed}\\],`));
  await down(url, 20);
  const known = at('schedule.changed');
  const after = await bodies();
  expect(after[0]).toBe(`[${known}${before[0]?.slice(3)}`);
  expect(after[1]).toBe(`[[0,${known},3,${known}${before[1]?.slice(11)}`);
  expect(after[2]).toBe(before[2]);
});

test('an older version can read events that were stored in blocks', async () => {
  const url = await emptyDatabase();
  const store = await openPostgresStore({ url, migrate: true });
  const leader = await TestLeader.of(store, 0);
  const jobs = [7, 8, 9, 20, 3, null].map((no) => (no === null ? null : jobNo(no)));
  const detail = '"\\u0000 \'ü"';
  const about = jobs.flatMap((no) => [
    { kind: 'queued' as const, jobNo: no, fence: 2_147_483_647 },
    { kind: 'assigned' as const, jobNo: no, at: instant(5), nodeId: 'w "1"' as NodeId, detail },
  ]);
  await leader.commit({ events: Array.from({ length: 12 }, () => about).flat() });
  await store.nodes(0);
  const before = (await store.events(0, 0, 999)).map((event) => ({ ...event }));
  await store.close();
  await connect(url)`update millrace.leader set released = true`;
  const chunks = async (): Promise<readonly EventChunk[]> => {
    const rows = await connect(
      url,
    )`select first_seq::integer, last_seq::integer, job_min::integer, body,
      round(extract(epoch from at) * 1000)::text as at from millrace.event_chunk order by first_seq`;
    return rows.map((row) => ({
      ...{ firstSeq: row['first_seq'] as number, lastSeq: row['last_seq'] as number },
      ...{ jobMin: row['job_min'] as JobNo | null, jobMax: null, body: row['body'] as string },
      at: instant(Number(row['at'])),
    }));
  };
  const hasBlocks = async () => (await chunks()).some(({ body }) => body.startsWith('{'));
  expect(await hasBlocks()).toBe(true);
  await down(url, 27);
  expect(await hasBlocks()).toBe(false);
  const expected = before.map(({ jobId: _job, taskId: _task, ...event }) => event);
  expect((await chunks()).flatMap(eventsIn)).toEqual(expected);
  const [shown] = await connect(url)`select count(*)::integer as events from millrace.events`;
  expect(shown?.['events']).toBe(before.length);
});

/** The tables of version 7 with a task of each state that matters here. */
async function filledBefore(url: string): Promise<postgres.Sql> {
  await up(url, 7);
  const sql = connect(url);
  await sql`insert into millrace.job (shard, priority, state, run, task_count, no, created_at, id, name, on_failure)
    values (0, 2, 1, 1, 2, 1, now(), 'job-1', 'nightly', 'finish')`;
  await sql`insert into millrace.job_live (shard, priority, no) values (0, 2, 1)`;
  await sql`insert into millrace.task_spec (shard, priority, task_no, job_no, id, executor, depends_on)
    select 0, 2, no, 1, 'task-' || no, 'echo', '{}' from generate_series(0, 3) no`;
  await sql`insert into millrace.task
      (shard, state, task_no, job_no, run, attempt, failures, losses, fence, progress, suspended, not_before)
    values (0, 1, 0, 1, 2, 0, 0, 0, 0, 0, null, null), (0, 2, 1, 1, 1, 1, 0, 0, 1, 0, 'time', now()),
           (0, 0, 2, 1, 1, 1, 0, 0, 1, 0, 'children', null), (0, 0, 3, 1, 1, 0, 0, 0, 0, 0, null, null)`;
  await sql`insert into millrace.task_history
    select t.* from millrace.task t where t.task_no = 3`;
  return sql;
}

const rowsBefore = (sql: postgres.Sql) => sql`
  select row_to_json(j)::text as row from millrace.job j
  union all select row_to_json(t)::text from millrace.task t
  union all select row_to_json(h)::text from millrace.task_history h order by row`;

test('rows of before signals come through, down again and up again', async () => {
  const url = await emptyDatabase();
  const sql = await filledBefore(url);
  const before = [...(await rowsBefore(sql))];
  expect(before).toHaveLength(6);
  await up(url);
  await down(url, 7);
  expect([...(await rowsBefore(sql))]).toEqual(before);
  const store = await openPostgresStore({ url, migrate: true });
  onTestFinished(() => store.close());
  const image = await store.loadJob(0, jobId('job-1'));
  expect(image).toMatchObject({ job: { output: null }, signals: [] });
  expect(image?.tasks.map(({ suspended, waits }) => [suspended, waits])).toEqual([
    [null, null],
    ['time', null],
    ['children', null],
    [null, null],
  ]);
  // A row still fits the history, column by column.
  const leader = await TestLeader.of(store, 0);
  leader.nextJobNo = 2;
  const waiting = aTask(1, 0, { run: 3, state: 'blocked', suspended: 'job', waits: '{}' });
  await leader.commit({ archived: [waiting], taskUpdates: [waiting] });
  await leader.commit({ archived: [waiting], taskUpdates: [aTask(1, 0, { run: 4 })] });
  const view = await store.job(0, jobId('job-1'));
  expect(view?.history.at(-1)).toEqual(waiting);
});

test('a task that waits for a signal or a job goes on in a version that knows neither', async () => {
  const url = await emptyDatabase();
  const store = await openPostgresStore({ url, migrate: true });
  const leader = await TestLeader.of(store, 0);
  await leader.submit(
    aJob(1, { output: '1' }),
    [aSpec(1, 0), aSpec(1, 1), aSpec(1, 2), aSpec(1, 3)],
    [
      aTask(1, 0, { state: 'blocked', suspended: 'signal', waits: '{}', queuedAt: null }),
      aTask(1, 1, { state: 'delayed', suspended: 'job', waits: '{}', notBefore: AT }),
      aTask(1, 2, { state: 'blocked', suspended: 'children' }),
      aTask(1, 3, { state: 'blocked' }),
    ],
  );
  await leader.commit({ signalInserts: [aSignal(1, 0)] });
  await store.resign(leader.term);
  await store.close();
  await down(url, 7);
  const tasks = await connect(url)`select state, suspended, queued_at is not null as queued
    from millrace.task order by task_no`;
  expect([...tasks]).toEqual([
    { state: 1, suspended: 'time', queued: true },
    { state: 2, suspended: 'time', queued: true },
    { state: 0, suspended: 'children', queued: true },
    { state: 0, suspended: null, queued: true },
  ]);
  const again = await openPostgresStore({ url, migrate: true });
  onTestFinished(() => again.close());
  expect(await again.loadJob(0, jobId('job-1'))).toMatchObject({
    job: { output: null },
    signals: [],
  });
});

test('a script that fails leaves the version before it, whole', async () => {
  const url = await emptyDatabase();
  await up(url, 1);
  const before = await contentOf(url);
  await connect(url)`create function millrace.delete_inbox(smallint, bigint[]) returns smallint
    language sql as 'select 1::smallint'`;
  await expect(up(url)).rejects.toMatchObject({ code: 'store_version' });
  expect(await status(url)).toMatchObject({ current: 1 });
  await connect(url)`drop function millrace.delete_inbox(smallint, bigint[])`;
  expect(await contentOf(url)).toEqual(before);
  await up(url);
});

test('an older database is refused, with the command that helps', async () => {
  const url = await emptyDatabase();
  const refusal = {
    code: 'store_version',
    message: expect.stringContaining('millrace migrate up') as string,
  };
  await expect(openPostgresStore({ url })).rejects.toMatchObject(refusal);
  await up(url, 1);
  await expect(openPostgresStore({ url })).rejects.toMatchObject(refusal);
});

test('a database of a newer build is refused, also for migrating', async () => {
  const database = await millraceDatabase();
  onTestFinished(() => database.drop());
  const { url } = database;
  await connect(
    url,
  )`insert into millrace.migration (version, name) values (9000, '9000-from-the-future')`;
  const refusal = { code: 'store_version', message: expect.stringContaining('newer') as string };
  await expect(openPostgresStore({ url })).rejects.toMatchObject(refusal);
  await expect(openPostgresStore({ url, migrate: true })).rejects.toMatchObject(refusal);
  await expect(down(url)).rejects.toMatchObject(refusal);
});

test('nobody migrates under a leader that is at work', async () => {
  const database = await millraceDatabase();
  onTestFinished(() => database.drop());
  const { url } = database;
  const store = await openPostgresStore({ url });
  onTestFinished(() => store.close());
  const leader = await TestLeader.of(store, 0);
  await expect(down(url)).rejects.toMatchObject({ code: 'conflict' });
  await store.resign(leader.term);
  await down(url);
});

test('a version that does not exist is not a target', async () => {
  const url = await emptyDatabase();
  await expect(up(url, 99)).rejects.toMatchObject({ code: 'bad_input' });
});
