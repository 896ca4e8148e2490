import postgres from 'postgres';
import { expect, onTestFinished, test } from 'vitest';
import { freshDatabase } from '../postgres.ts';
import { startPooler } from './pooler.ts';
import type { PoolerOptions } from './pooler.ts';

async function pooled(
  options: PoolerOptions = {},
  client: postgres.Options<Record<string, never>> = {},
): Promise<postgres.Sql> {
  const database = await freshDatabase();
  onTestFinished(() => database.drop());
  const pooler = await startPooler(database.url, options);
  const sql = postgres(pooler.url, {
    max: 1,
    fetch_types: false,
    onnotice: () => {},
    prepare: false,
    ...client,
  });
  onTestFinished(() => sql.end({ timeout: 0 }));
  return sql;
}

const pidOf = async (sql: postgres.ISql): Promise<number> =>
  (await sql<{ pid: number }[]>`select pg_backend_pid() as pid`)[0]?.pid ?? 0;

test('each statement runs on another connection, a transaction on one', async () => {
  const sql = await pooled({ connections: 3 });
  const pids: number[] = [];
  for (let at = 0; at < 6; at += 1) pids.push(await pidOf(sql));
  expect(new Set(pids).size).toBe(3);
  pids.forEach((pid, at) => expect(pid).not.toBe(pids[at - 1]));
  const within = await sql.begin(async (tx) => [await pidOf(tx), await pidOf(tx), await pidOf(tx)]);
  expect(new Set(within).size).toBe(1);
});

test('what belongs to a session does not stick to the client', async () => {
  const sql = await pooled({ connections: 2 });
  await sql`set work_mem = '77MB'`;
  expect(await sql`show work_mem`).not.toEqual([{ work_mem: '77MB' }]);
  expect(await sql`select pg_try_advisory_lock(1) as got`).toEqual([{ got: true }]);
  // The other connection has it: this very client is locked out.
  expect(await sql`select pg_try_advisory_lock(1) as got`).toEqual([{ got: false }]);
});

test('a failed transaction gives its connection back clean', async () => {
  const sql = await pooled({ connections: 1 });
  await expect(sql.begin((tx) => tx`select 1/0`)).rejects.toThrow('division by zero');
  await expect(sql`select 1/0`).rejects.toThrow('division by zero');
  expect(await sql`select txid_current_if_assigned() as id`).toEqual([{ id: null }]);
});

test('clients wait for a connection, and one that leaves half-way frees it', async () => {
  const database = await freshDatabase();
  onTestFinished(() => database.drop());
  const { url } = await startPooler(database.url, { connections: 1 });
  const [first, second] = [0, 1].map(() => {
    const sql = postgres(url, { max: 1, fetch_types: false, prepare: false });
    onTestFinished(() => sql.end({ timeout: 0 }));
    return sql;
  });
  if (first === undefined || second === undefined) return expect.fail();
  // The driver reserves only what is connected.
  for (const sql of [first, second]) await sql`select 1`;
  const holder = await first.reserve();
  await holder`begin`;
  const waiting = second`select 2 as two`.execute();
  await expect(holder`select 3 as three`).resolves.toEqual([{ three: 3 }]);
  await first.end({ timeout: 0 });
  expect(await waiting).toEqual([{ two: 2 }]);
});

test('a start-up parameter that it does not know is refused, unless it is to be ignored', async () => {
  const connection = { statement_timeout: 1234, TimeZone: 'UTC', application_name: 'mine' };
  const strict = await pooled({}, { connection });
  await expect(strict`select 1`).rejects.toThrow(
    'unsupported startup parameter: statement_timeout',
  );
  const lenient = await pooled({ ignoredParameters: ['statement_timeout'] }, { connection });
  for (let at = 0; at < 5; at += 1) {
    expect(await lenient`show statement_timeout`).toEqual([{ statement_timeout: '0' }]);
    expect(await lenient`show TimeZone`).toEqual([{ TimeZone: 'UTC' }]);
    expect(await lenient`show application_name`).toEqual([{ application_name: 'mine' }]);
  }
});

test('prepared statements are forgotten between transactions', async () => {
  const sql = await pooled({ connections: 2 });
  await sql`prepare mine as select 1`;
  await expect(sql`execute mine`).rejects.toThrow('prepared statement "mine" does not exist');
});

test('kept prepared statements work on every connection, also after an error', async () => {
  const sql = await pooled({ connections: 3, preparedStatements: 'kept' }, { prepare: true });
  for (let at = 0; at < 8; at += 1) {
    expect(await sql`select ${at}::int as at`).toEqual([{ at }]);
    await expect(sql`select 1 / ${0}::int`).rejects.toThrow('division by zero');
    await expect(sql`select nothing(${at}::int)`).rejects.toThrow('does not exist');
  }
  const many = await Promise.all(
    Array.from({ length: 20 }, (_, at) => sql`select ${at}::int as at`),
  );
  expect(many.map((rows) => rows[0]?.['at'] as number)).toEqual(
    Array.from({ length: 20 }, (_, at) => at),
  );
});

test('a large result and a large parameter pass whole', async () => {
  const sql = await pooled();
  const long = 'x'.repeat(1_000_000);
  expect(await sql`select length(${long}) as length`).toEqual([{ length: 1_000_000 }]);
  expect(await sql`select g from generate_series(1, 50000) g`).toHaveLength(50_000);
});

test('a database that is not there is the login error of the server', async () => {
  const database = await freshDatabase();
  const { url } = await startPooler(database.url);
  await database.drop();
  const sql = postgres(url, { max: 1, fetch_types: false });
  onTestFinished(() => sql.end({ timeout: 0 }));
  await expect(sql`select 1`).rejects.toThrow(/server login failed: .*does not exist/);
});
