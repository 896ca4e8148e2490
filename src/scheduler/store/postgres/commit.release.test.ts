import { once } from 'node:events';
import { connect as dial, createServer, type Socket } from 'node:net';
import postgres from 'postgres';
import { expect, onTestFinished, test } from 'vitest';
import { openTestStore } from '../../../../test/rig/millrace-database.ts';
import { type Batch, batchOf, jobNo } from '../../core/index.ts';
import { candidacy, TestLeader, TTL_MS } from '../../../../test/rig/conformance/leader.ts';
import {
  aJob,
  aSpec,
  aTask,
  jobId,
  running,
  termId,
} from '../../../../test/rig/conformance/rows.ts';
import { foldStatement } from './fold.ts';
import { openPostgresStore } from './open.ts';

function connect(url: string): postgres.Sql {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  onTestFinished(() => sql.end());
  return sql;
}

/** The leader's connections: those that ever sent a commit or a campaign. */
const ofLeader = (sql: postgres.Sql) => sql`
  select pid, state from pg_stat_activity
   where datname = current_database() and pid <> pg_backend_pid()
     and query ~ 'millrace\.(fence|campaign|stand)'`;

async function numbers(store: Awaited<ReturnType<typeof openTestStore>>['store']) {
  return (await store.jobs(0, { limit: 9 })).map((job) => job.no);
}

test('a deposed leader changes nothing and gets "deposed"', async () => {
  const { store } = await openTestStore();
  const leader = await TestLeader.of(store, 0);
  await store.resign(leader.term);
  await store.campaign(candidacy(0, { term: termId('next') }));
  await expect(leader.commit({ jobInserts: [aJob(1)] })).rejects.toMatchObject({ code: 'deposed' });
  expect(await numbers(store)).toEqual([]);
});

test('a bad row takes its batch with it, and the connection is as good as before', async () => {
  const { store, url } = await openTestStore();
  const leader = await TestLeader.of(store, 0);
  const bad = { jobInserts: [aJob(1)], specInserts: [aSpec(1, 0)] };
  const task = running(1, 0, { sessionId: null });
  await expect(leader.commit({ ...bad, taskInserts: [task] })).rejects.toMatchObject({
    code: 'bad_row',
    message: expect.stringContaining('task 1/0') as string,
  });
  const [backend] = await ofLeader(connect(url));
  expect(backend).toMatchObject({ state: 'idle' });
  await leader.commit({ ...bad, taskInserts: [aTask(1, 0)] });
  expect(await ofLeader(connect(url))).toEqual([backend]);
  expect(await numbers(store)).toEqual([1]);
});

test('an error carries no payload', async () => {
  const { store } = await openTestStore();
  const leader = await TestLeader.of(store, 0);
  const refused = await leader
    .commit({
      jobInserts: [aJob(1)],
      specInserts: [aSpec(1, 0, { input: '"secret"' })],
      taskInserts: [running(1, 0, { sessionId: null })],
    })
    .catch((error: unknown) => error as Error);
  const { cause = {} } = refused as Error;
  const all = [refused, cause].flatMap((error) =>
    Object.getOwnPropertyNames(error).map((name) =>
      String((error as Record<string, unknown>)[name]),
    ),
  );
  expect(all.join()).not.toContain('secret');
});

test('a commit that is killed half-way is of unknown outcome, and the next one works', async () => {
  const { store, url } = await openTestStore();
  const leader = await TestLeader.of(store, 0);
  const sql = connect(url);
  const commit = await sql.begin(async (tx) => {
    // Holds the leader's row, so that the commit is caught while it waits for it.
    await tx`select from millrace.leader for update`;
    const pending = leader.commit({ jobInserts: [aJob(1)] }).catch((error: unknown) => error);
    await lockedOut(tx);
    await tx`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`;
    return { pending };
  });
  expect(await commit.pending).toMatchObject({ code: 'outcome_unknown' });
  expect(await numbers(store)).toEqual([]);
  await leader.commit({ jobInserts: [aJob(1)] });
  expect(await numbers(store)).toEqual([1]);
  const open = await sql`select from pg_stat_activity
    where datname = current_database() and state like 'idle in transaction%'`;
  expect(open).toHaveLength(0);
});

/** Asks until somebody waits for a lock: a signal, though one that has to be fetched. */
async function lockedOut(sql: postgres.ISql): Promise<void> {
  for (;;) {
    // A transaction would otherwise see the same activity for ever.
    await sql`select pg_stat_clear_snapshot()`;
    const waiting = await sql`select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`;
    if (waiting.length > 0) return;
  }
}

test('a connection that was killed while idle costs nothing', async () => {
  const { store, url } = await openTestStore();
  const leader = await TestLeader.of(store, 0);
  const sql = connect(url);
  const [backend] = await ofLeader(sql);
  await sql`select pg_terminate_backend(${backend?.['pid'] as number}, 5000)`;
  // The close reaches this process before the answer to a question that was asked after it.
  await store.leader(0);
  await leader.commit({ jobInserts: [aJob(1)] });
  expect(await numbers(store)).toEqual([1]);
});

test('a commit that waits too long for the row is given up by the server', async () => {
  // The server's limit is 1.6 s, our own 2 s.
  const { store, url } = await openTestStore({ ttlHintMs: 4_000 });
  const leader = await TestLeader.of(store, 0);
  await connect(url).begin(async (tx) => {
    await tx`select from millrace.leader for update`;
    const lost = leader.commit({ jobInserts: [aJob(1)] });
    await expect(lost).rejects.toMatchObject({
      code: 'outcome_unknown',
      message: expect.stringContaining('statement timeout') as string,
    });
  });
  await leader.commit({ jobInserts: [aJob(1)] });
  expect(await numbers(store)).toEqual([1]);
});

test('a commit that finds no server has changed nothing, and says so', async () => {
  const { url } = await openTestStore();
  const way = await gate(url);
  const store = await openPostgresStore({ url: way.url });
  onTestFinished(() => store.close());
  const leader = await TestLeader.of(store, 0);
  await way.close();
  const gone = { code: 'store_unavailable' };
  // While this was refused, the end of the leader's own connection has been heard as well.
  await expect(store.jobs(0, { limit: 1 })).rejects.toMatchObject(gone);
  await expect(leader.commit({ jobInserts: [aJob(1)] })).rejects.toMatchObject(gone);
  await expect(openPostgresStore({ url: way.url })).rejects.toMatchObject(gone);
});

test('a store that was closed writes nothing more', async () => {
  const { store } = await openTestStore();
  const leader = await TestLeader.of(store, 0);
  await store.close();
  await expect(leader.commit({})).rejects.toMatchObject({ code: 'store_unavailable' });
});

test('a URL that is none is a bad setting', async () => {
  await expect(openPostgresStore({ url: 'postgres://[' })).rejects.toMatchObject({
    code: 'bad_setting',
  });
});

interface Gate {
  readonly url: string;
  /** From now on answers are swallowed, or the connection is cut when one comes. */
  shut(how: 'silence' | 'cut'): void;
  /** Ends all connections and takes no more. */
  close(): Promise<void>;
}

/** A way to the server that can be closed. */
async function gate(url: string): Promise<Gate> {
  const { hostname, port } = new URL(url);
  const sockets = new Set<Socket>();
  let shut: 'silence' | 'cut' | null = null;
  const server = createServer((client) => {
    const upstream = dial(Number(port), hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        client.destroy();
        upstream.destroy();
      });
    }
    client.on('data', (chunk) => upstream.write(chunk));
    upstream.on('data', (chunk) => {
      if (shut === null) client.write(chunk);
      else if (shut === 'cut') client.destroy();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const through = new URL(url);
  through.port = String((server.address() as { port: number }).port);
  const close = async (): Promise<void> => {
    const closed = [...sockets]
      .filter((socket) => !socket.destroyed)
      .map((socket) => once(socket, 'close'));
    for (const socket of sockets) socket.destroy();
    if (server.listening) server.close();
    await Promise.all(closed);
  };
  onTestFinished(close);
  return { url: through.href, shut: (how) => void (shut = how), close };
}

for (const how of ['cut', 'silence'] as const) {
  test(`a commit whose answer is lost (${how}) is of unknown outcome, and may be there`, async () => {
    const { store: other, url } = await openTestStore();
    const way = await gate(url);
    const store = await openPostgresStore({ url: way.url, ttlHintMs: 2_000 });
    onTestFinished(() => store.close());
    const leader = await TestLeader.of(store, 0);
    // The first commit of a term also looks where the tables are.
    await leader.commit({});
    way.shut(how);
    await expect(leader.commit({ jobInserts: [aJob(1)] })).rejects.toMatchObject({
      code: 'outcome_unknown',
    });
    expect(await numbers(other)).toEqual([1]);
    // The way back: give up the term and take the next one, which nothing of the old can enter.
    await other.resign(leader.term);
    const next = await TestLeader.of(other, 0);
    expect(next.term.epoch).toBe(2);
    expect(await other.loadCluster(0)).toMatchObject({ nextJobNo: 2 });
  });
}

test('commits that are sent without waiting for each other keep their order', async () => {
  const { store } = await openTestStore();
  const { term } = await TestLeader.of(store, 0);
  const batches = Array.from({ length: 20 }, (_, at): Batch =>
    batchOf({
      commitNo: at + 1,
      lastSeq: 0,
      nextJobNo: jobNo(at + 2),
      jobInserts: [aJob(at + 1)],
    }),
  );
  await Promise.all(batches.map((batch) => store.commit(term, TTL_MS, batch)));
  expect((await store.jobs(0, { limit: 99 })).length).toBe(20);
});

test('the functions take the columns that the codecs send, by name and in order', async () => {
  const { url } = await openTestStore();
  const rows = await connect(url)`select proname as name, proargnames as args from pg_proc
    where pronamespace = 'millrace'::regnamespace`;
  const args = new Map(rows.map((row) => [row['name'] as string, row['args'] as string[]]));
  const calls = [...foldStatement.statement.matchAll(/millrace\.(\w+_\w+)\(/g)];
  expect(calls).toHaveLength(24);
  for (const { call, columns } of foldStatement.parts) {
    expect([call, ...(args.get(call) ?? [])]).toEqual([call, 'shard', ...columns]);
  }
});

test('an update whose job is unknown names it', async () => {
  const { store } = await openTestStore();
  const leader = await TestLeader.of(store, 0);
  await expect(leader.commit({ taskUpdates: [aTask(7, 3)] })).rejects.toMatchObject({
    code: 'bad_row',
    message: expect.stringContaining('7/3') as string,
  });
  expect(await store.job(0, jobId('job-7'))).toBeNull();
});

test('a job of a hundred thousand tasks is stored although the connection has a short timeout', async () => {
  const { store, url } = await openTestStore({ ttlHintMs: 2_000 });
  const leader = await TestLeader.of(store, 0);
  const tasks = Array.from({ length: 100_000 }, (_, no) => no);
  await leader.commit({
    jobInserts: [aJob(1, { taskCount: tasks.length })],
    specInserts: tasks.map((no) => aSpec(1, no)),
    taskInserts: tasks.map((no) => aTask(1, no)),
  });
  expect((await store.jobRow(0, jobId('job-1')))?.taskCount).toBe(100_000);
  // And the short timeout holds again.
  await connect(url).begin(async (tx) => {
    await tx`select from millrace.leader for update`;
    const lost = leader.commit({ jobInserts: [aJob(2)] });
    await expect(lost).rejects.toMatchObject({ code: 'outcome_unknown' });
  });
});
