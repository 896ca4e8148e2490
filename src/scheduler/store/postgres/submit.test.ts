import postgres from 'postgres';
import { expect, onTestFinished, test } from 'vitest';
import { openTestStore } from '../../../../test/rig/millrace-database.ts';
import { isId } from '../../core/index.ts';
import { deferred } from '../../../kit/index.ts';
import { TestLeader } from '../../../../test/rig/conformance/leader.ts';
import { aJob, jobId } from '../../../../test/rig/conformance/rows.ts';

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

const KEYED = '{"idempotencyKey": "order-7", "tasks": [{"id": "a", "executor": "echo"}]}';

async function submitKeyed(sql: postgres.ISql): Promise<string> {
  const [row] = await sql`select millrace.submit(${KEYED}::text::jsonb) as id`;
  return row?.['id'] as string;
}

test('a key that is known answers the first job, from the inbox and when the job was made', async () => {
  const { store, url } = await openTestStore();
  const leader = await TestLeader.of(store, 0);
  const sql = connect(url);
  const first = await submitKeyed(sql);
  expect(await submitKeyed(sql)).toBe(first);
  expect(await store.inbox(0, 9)).toHaveLength(1);
  const [row] = await store.inbox(0, 9);
  const job = aJob(1, { id: jobId(first), idempotencyKey: 'order-7' });
  await leader.commit({ jobInserts: [job], inboxDeletes: [row?.no ?? 0] });
  expect(await submitKeyed(sql)).toBe(first);
  expect(await store.inbox(0, 9)).toEqual([]);
});

test('a key twice in one transaction is one job', async () => {
  const { store, url } = await openTestStore();
  const ids = await connect(url).begin(async (tx) => [
    await submitKeyed(tx),
    await submitKeyed(tx),
  ]);
  expect(new Set(ids).size).toBe(1);
  expect(await store.inbox(0, 9)).toHaveLength(1);
});

/** Asks until a session waits for another's transaction. */
async function waits(sql: postgres.ISql): Promise<void> {
  for (;;) {
    await sql`select pg_stat_clear_snapshot()`;
    const found = await sql`select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`;
    if (found.length > 0) return;
  }
}

for (const [how, same] of [
  ['commits', true],
  ['is rolled back', false],
] as const) {
  test(`of two transactions with one key the second waits, until the first ${how}`, async () => {
    const { store, url } = await openTestStore();
    const undone = new Error('the order was refused');
    let first = '';
    let second: Promise<string> = Promise.resolve('');
    const transaction = connect(url).begin(async (tx) => {
      first = await submitKeyed(tx);
      second = submitKeyed(connect(url));
      await waits(tx);
      if (!same) throw undone;
    });
    if (same) await transaction;
    else await expect(transaction).rejects.toBe(undone);
    expect((await second) === first).toBe(same);
    expect(await store.inbox(0, 9)).toMatchObject([{ jobId: await second }]);
  });
}

test('a second one that waited while the first was made a job has the id of that job', async () => {
  const { store, url } = await openTestStore();
  const leader = await TestLeader.of(store, 0);
  const first = await submitKeyed(connect(url));
  const [row] = await store.inbox(0, 9);
  const sql = connect(url);
  // The leader's transaction, still open: the row is deleted and the job made, for nobody to see.
  let second: Promise<string> = Promise.resolve('');
  await sql.begin(async (tx) => {
    await tx`delete from millrace.inbox where no = ${row?.no ?? 0}`;
    await tx`insert into millrace.job
      (shard, priority, state, run, task_count, no, created_at, id, name, on_failure, idempotency_key)
      values (0, 2, 1, 1, 1, 1, now(), ${first}, 'n', 'finish', 'order-7')`;
    second = submitKeyed(connect(url));
    await waits(tx);
  });
  expect(await second).toBe(first);
  expect(await store.inbox(0, 9)).toEqual([]);
  expect(leader.term.epoch).toBe(1);
});

test('what cannot be a key is left to the leader to refuse', async () => {
  const { store, url } = await openTestStore();
  const sql = connect(url);
  for (const key of ['7', 'null', `"${'x'.repeat(201)}"`]) {
    const document = `{"idempotencyKey": ${key}}`;
    await sql`select millrace.submit(${document}::text::jsonb)`;
    await sql`select millrace.submit(${document}::text::jsonb)`;
  }
  expect(await store.inbox(0, 9)).toHaveLength(6);
});
