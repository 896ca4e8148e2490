import postgres from 'postgres';
import { expect, onTestFinished, test } from 'vitest';
import { openTestStore } from '../../../test/fixture/millrace-database.ts';
import { isId } from '../../core/index.ts';
import { deferred } from '../../kit/index.ts';
import { TestLeader } from '../../testing/conformance/leader.ts';
import { aJob } from '../../testing/conformance/rows.ts';

function connect(url: string): postgres.Sql {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  onTestFinished(() => sql.end());
  return sql;
}

const DOCUMENT = '{"name": "nightly", "tasks": [{"id": "a", "executor": "echo"}]}';

test('a job that is submitted in a transaction is there when it commits', async () => {
  const { store, url } = await openTestStore();
  const sql = connect(url);
  const id = await sql.begin(async (tx) => {
    await tx`create table orders (id int)`;
    const [row] = await tx`select millrace.submit(${DOCUMENT}::text::jsonb) as id`;
    expect(await store.inbox(0, 9)).toEqual([]);
    return row?.['id'] as string;
  });
  expect(isId(id)).toBe(true);
  const [row] = await store.inbox(0, 9);
  expect(row).toMatchObject({ no: 1, jobId: id });
  expect(JSON.parse(row?.document ?? '')).toEqual(JSON.parse(DOCUMENT));
});

test('a job that is submitted in a transaction goes when it is rolled back', async () => {
  const { store, url } = await openTestStore();
  const sql = connect(url);
  const given = new Error('the order was refused');
  const failed = sql.begin(async (tx) => {
    await tx`select millrace.submit('{}')`;
    throw given;
  });
  await expect(failed).rejects.toBe(given);
  expect(await store.inbox(0, 9)).toEqual([]);
});

test('the leader hears of a submitted job, and takes it out as it makes the job', async () => {
  const { store, url } = await openTestStore();
  const leader = await TestLeader.of(store, 0);
  let heard = deferred();
  const stop = await store.onInbox(() => heard.resolve());
  await heard.promise; // once at the start, for what came before
  heard = deferred();
  await connect(url)`select millrace.submit('{}')`;
  await heard.promise;
  await stop();
  const [row] = await store.inbox(0, 9);
  await leader.commit({ jobInserts: [aJob(1)], inboxDeletes: [row?.no ?? 0] });
  expect(await store.inbox(0, 9)).toEqual([]);
});

test('a listener that lost its connection comes back and looks for what it missed', async () => {
  const { store, url } = await openTestStore();
  let heard = deferred();
  const stop = await store.onInbox(() => heard.resolve());
  onTestFinished(stop);
  await heard.promise;
  heard = deferred();
  const sql = connect(url);
  await sql`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and query = 'listen millrace_inbox'`;
  await heard.promise;
  heard = deferred();
  await sql`select millrace.submit('{}')`;
  await heard.promise;
  expect(await store.inbox(0, 9)).toHaveLength(1);
});

test('who may use the schema may submit, and touch nothing else', async () => {
  const { store, url } = await openTestStore();
  const sql = connect(url);
  const role = `clerk_${new URL(url).pathname.slice(1)}`;
  await sql`create role ${sql(role)}`;
  onTestFinished(async () => {
    const admin = postgres(url, { max: 1 });
    await admin`drop owned by ${admin(role)}`;
    await admin`drop role ${admin(role)}`;
    await admin.end();
  });
  await sql`grant usage on schema millrace to ${sql(role)}`;
  await sql`set role ${sql(role)}`;
  await sql`select millrace.submit('{}')`;
  await expect(sql`select * from millrace.inbox`).rejects.toThrow('permission denied');
  await sql`reset role`;
  expect(await store.inbox(0, 9)).toHaveLength(1);
});

test('ids are never given twice, and a null document is refused', async () => {
  const { url } = await openTestStore();
  const sql = connect(url);
  const rows = await sql`select millrace.submit('{}') as id from generate_series(1, 1000)`;
  expect(new Set(rows.map((row) => row['id'] as string)).size).toBe(1_000);
  await expect(sql`select millrace.submit(null)`).rejects.toThrow('cannot be null');
});
