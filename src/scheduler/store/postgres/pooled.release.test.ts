/** Behind a pooler nothing outlasts a transaction; everything but the quick take-over works all the same. */
import postgres from 'postgres';
import { expect, onTestFinished, test } from 'vitest';
import { millraceDatabase } from '../../../../test/rig/millrace-database.ts';
import { freshDatabase } from '../../../../test/rig/postgres.ts';
import { startPooler } from '../../../../test/rig/cluster/pooler.ts';
import { candidacy, TestLeader } from '../../../../test/rig/conformance/leader.ts';
import { contentOf, manyRows } from '../../../../test/rig/conformance/moving.ts';
import { aJob, aSpec, aTask, termId } from '../../../../test/rig/conformance/rows.ts';
import { FoldConnection } from './fold-connection.ts';
import { migratePostgres, openPostgresStore, type PostgresStore } from './open.ts';
import { isPooled } from './pooler.ts';

const RIVAL = { nodeId: 'node-b', term: termId('b') };
const ALL = [
  ...['statement_timeout', 'lock_timeout', 'extra_float_digits', 'default_transaction_isolation'],
  ...['jit', 'default_transaction_read_only', 'millrace.direct'],
];

function connect(url: string): postgres.Sql {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  onTestFinished(() => sql.end());
  return sql;
}

async function openPooled(): Promise<{ store: PostgresStore; url: string; direct: string }> {
  const database = await millraceDatabase();
  onTestFinished(() => database.drop());
  const { url } = await startPooler(database.url);
  const store = await openPostgresStore({ url, ttlHintMs: 2_000 });
  onTestFinished(() => store.close());
  return { store, url, direct: database.url };
}

const settingsOf = (url: string) => ({ url, ttlMs: 10_000, applicationName: 'test' });

test('a pooler is found out, whether it refuses settings or ignores them', async () => {
  const database = await freshDatabase();
  onTestFinished(() => database.drop());
  expect(await isPooled(settingsOf(database.url))).toBe(false);
  const strict = await startPooler(database.url);
  expect(await isPooled(settingsOf(strict.url))).toBe(true);
  const one = { connections: 1, ignoredParameters: ALL };
  const lenient = await startPooler(database.url, { ...one, preparedStatements: 'kept' });
  expect(await isPooled(settingsOf(lenient.url))).toBe(true);
});

test.each([true, false])(
  'a fold whose process stops before its commit is ended long before the term can be over: pooled %s',
  async (isPooled) => {
    const { url, direct } = await openPooled();
    const settings = settingsOf(isPooled ? url : direct);
    const folds = new FoldConnection({ ...settings, ttlMs: 2_000, isPooled });
    onTestFinished(() => folds.close());
    const asked = `select current_setting('idle_in_transaction_session_timeout') as limit`;
    const answer = folds.transaction(({ run }) => run(asked, []));
    expect(await answer).toEqual([{ limit: '800ms' }]);
  },
);

test('a leader behind a pooler writes, reads and follows the log', async () => {
  const { store } = await openPooled();
  const leader = await TestLeader.of(store, 0);
  await leader.submit(aJob(1), [aSpec(1, 0, { input: '1' })], [aTask(1, 0)]);
  await leader.commit({ events: [{}, {}] });
  expect(await store.job(0, aJob(1).id)).toMatchObject({ tasks: [{ spec: { input: '1' } }] });
  expect(await store.events(0, 0, 9)).toHaveLength(2);
  await expect(leader.commit({ jobInserts: [aJob(1)] })).rejects.toMatchObject({ code: 'bad_row' });
  // More rows than the usual limit of a statement is for.
  const many = Array.from({ length: 25_000 }, (_, at) => aJob(at + 2));
  await leader.commit({ jobInserts: many });
  expect(await store.jobs(0, { limit: 1 })).toMatchObject([{ no: 25_001 }]);
});

test('its connection is nobody’s: it leaves no lock behind and stands for no leader term', async () => {
  const { store, direct } = await openPooled();
  const leader = await TestLeader.of(store, 0);
  const sql = connect(direct);
  const locks = () => sql`select from pg_locks where locktype = 'advisory' and database =
    (select oid from pg_database where datname = current_database())`;
  expect(await locks()).toHaveLength(0);
  const recorded = await sql`select backend_pid, backend_start from millrace.leader`;
  expect(recorded).toEqual([{ backend_pid: null, backend_start: null }]);
  // Nobody has a proof against it, but its time runs out as ever.
  expect(await store.campaign(candidacy(0, { ...RIVAL, vacated: 1 }))).toMatchObject({
    won: false,
  });
  await store.renew(leader.term, 0, 0);
  expect(await store.campaign(candidacy(0, RIVAL))).toMatchObject({
    won: true,
    term: { epoch: 2 },
  });
  await expect(leader.commit({})).rejects.toMatchObject({ code: 'deposed' });
});

test('a candidate behind a pooler sees that a leader with a connection of its own is gone', async () => {
  const { store, direct } = await openPooled();
  const gone = await openPostgresStore({ url: direct });
  await TestLeader.of(gone, 0);
  await gone.close();
  const vacated = await store.whenVacant(0, new AbortController().signal);
  const campaign = await store.campaign(candidacy(0, { ...RIVAL, vacated: vacated ?? 0 }));
  expect(campaign).toMatchObject({ won: true, previous: { nodeId: 'node-a', isGone: true } });
});

test('many migrate an empty database through a pooler at once, and leave no lock', async () => {
  const database = await freshDatabase();
  onTestFinished(() => database.drop());
  const { url } = await startPooler(database.url, { connections: 3 });
  const stores = await Promise.all(
    Array.from({ length: 5 }, () => openPostgresStore({ url, migrate: true })),
  );
  await Promise.all(stores.map((store) => store.close()));
  const { current, latest } = await migratePostgres({ url }, (all) => all.down(0));
  expect([current, latest > 0]).toEqual([0, true]);
  await migratePostgres({ url: database.url }, (all) => all.up());
});

test('a store is moved through a pooler', async () => {
  const { store, direct } = await openPooled();
  await store.fill(
    (async function* rows() {
      yield* manyRows();
    })(),
  );
  const plain = await openPostgresStore({ url: direct });
  onTestFinished(() => plain.close());
  expect(await contentOf(store)).toEqual(await contentOf(plain));
});

test('a listener hears nothing there, so it is asked to look once', async () => {
  const { store, direct } = await openPooled();
  let looks = 0;
  const stop = await store.onInbox(() => {
    looks += 1;
  });
  expect(looks).toBe(1);
  await connect(direct)`select millrace.submit('{}')`;
  expect(await store.inbox(0, 9)).toHaveLength(1);
  await stop();
});

test('a server that does not wait for the disk is made to for each commit', async () => {
  const { store, direct } = await openPooled();
  const sql = connect(direct);
  await sql`create table millrace.seen (mode text)`;
  await sql.unsafe(`
    create function millrace.note() returns trigger language plpgsql as $$
    begin insert into millrace.seen values (current_setting('synchronous_commit')); return null; end $$;
    create trigger note after insert on millrace.journal_0 for each statement execute function millrace.note();
    alter database ${sql.options.database} set synchronous_commit = off`);
  const { url } = await startPooler(direct);
  const late = await openPostgresStore({ url });
  onTestFinished(() => late.close());
  const leader = await TestLeader.of(late, 0);
  await leader.submit(aJob(1));
  expect(await sql`select distinct mode from millrace.seen`).toEqual([{ mode: 'on' }]);
  await store.close();
});
