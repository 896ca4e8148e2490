/** Wherever a task is stored, readers see the same: every commit is folded, and compared with a store in memory. */
import postgres from 'postgres';
import { expect, onTestFinished, test } from 'vitest';
import { type Changes, TestLeader } from '../../../../test/rig/conformance/leader.ts';
import {
  AT,
  aJob,
  aKey,
  aSignal,
  aSpec,
  aTask,
  jobId,
  nodeId,
  running,
  succeeded,
  taskId,
} from '../../../../test/rig/conformance/rows.ts';
import { millraceDatabase, openTestStore } from '../../../../test/rig/millrace-database.ts';
import { instant, jobNo, taskNo } from '../../core/index.ts';
import { openMemoryStore } from '../memory/memory.ts';
import { readMigrations } from '../migrations.ts';
import type { Dumped, Store } from '../store.ts';
import { migratePostgres, openPostgresStore } from './open.ts';

const ENDED = { state: 'succeeded', startedAt: AT, finishedAt: AT } as const;
const LONG = JSON.stringify('x'.repeat(3_000));
const KEY = aKey('k', { state: 'completed', result: '"k"' });
const ref = (no: number, task = 0) => ({ jobNo: jobNo(no), taskNo: taskNo(task) });
const resultOf = (no: number, body: string, run = 1) => ({ ...ref(no), run, body });

/** One task each, alike but for what happens to them. */
const NUMBERS = [1, 2, 3, 4, 5, 6, 7, 8, 9];
const SUBMITTED: Changes = {
  jobInserts: NUMBERS.map((no) =>
    aJob(no, {
      state: 'queued',
      labels: no === 9 ? [] : ['a:b'],
      onFailure: no === 8 ? 'cancel' : 'finish',
    }),
  ),
  specInserts: NUMBERS.map((no) =>
    aSpec(no, 0, {
      idempotencyKey: no === 4 ? 'k' : null,
      input: no === 5 ? LONG : '{"€":"\\""}',
      options: '{"retry":1}',
      ...(no === 6 ? { priority: 1 } : {}),
    }),
  ),
  taskInserts: NUMBERS.map((no) => aTask(no, 0)),
};
const STARTED: Changes = {
  jobUpdates: NUMBERS.map((no) => aJob(no, { startedAt: AT })),
  taskUpdates: NUMBERS.map((no) => running(no, 0)),
};

const LIVES: Readonly<Record<string, readonly Changes[]>> = {
  'all succeed': [
    {
      jobUpdates: NUMBERS.map((no) => aJob(no, ENDED)),
      taskUpdates: NUMBERS.map((no) => succeeded(no, 0, { finishedAt: AT })),
      results: NUMBERS.map((no) => resultOf(no, no === 6 ? LONG : '[1,"\\\\"]')),
    },
  ],
  'tries again, gets company, and runs a second time': [
    {
      taskUpdates: [
        aTask(1, 0, {
          ...{ state: 'delayed', attempt: 1, failures: 1, losses: 2, fence: 7, notBefore: AT },
          error: { code: 'failed', message: 'no' },
        }),
        aTask(2, 0, { state: 'blocked', suspended: 'signal', waits: '{"signals":["a"]}' }),
        running(3, 0, { progress: 0.5, stopping: 'cancel' }),
      ],
    },
    {
      jobUpdates: [
        aJob(1, { state: 'failed', finishedAt: AT, error: { code: 'dead', message: 'no' } }),
        aJob(2, { taskCount: 2 }),
        aJob(3, ENDED),
        aJob(4, ENDED),
      ],
      specInserts: [aSpec(2, 1, { parentNo: taskNo(0) })],
      taskInserts: [aTask(2, 1)],
      taskUpdates: [
        succeeded(1, 0, {
          ...{ state: 'failed', finishedAt: AT, error: { code: 'dead', message: 'no' } },
        }),
        succeeded(3, 0, { finishedAt: AT }),
        succeeded(4, 0, { finishedAt: AT }),
      ],
      results: [resultOf(3, '3'), resultOf(4, '4')],
      steps: [{ ...ref(5), run: 1, name: 's', body: '1' }],
      signalInserts: [aSignal(6, 0)],
    },
    {
      archived: [ref(3), ref(1)],
      jobUpdates: [aJob(3, { run: 2 }), aJob(1, { run: 2 })],
      taskUpdates: [aTask(3, 0, { run: 2 }), aTask(1, 0, { run: 2 })],
      takenSignals: [{ ...ref(6), signalNo: 0, run: 1, step: 'signal' }],
    },
    {
      jobUpdates: [aJob(3, { ...ENDED, run: 2 })],
      taskUpdates: [succeeded(3, 0, { run: 2, finishedAt: AT })],
      results: [resultOf(3, '33', 2)],
    },
  ],
  'ends apart from its job': [
    { taskUpdates: [succeeded(1, 0), succeeded(2, 0)], results: [resultOf(1, '1')] },
    { jobUpdates: [aJob(1, { ...ENDED, finishedAt: instant(AT + 9) }), aJob(7, ENDED)] },
  ],
  'takes the result of a key': [
    { keyUpserts: [KEY] },
    {
      jobUpdates: [aJob(1, ENDED)],
      taskUpdates: [succeeded(1, 0, { finishedAt: AT })],
      copiedResults: [{ ...ref(1), run: 1, scope: KEY.scope }],
    },
  ],
};

async function dumpOf(store: Store): Promise<readonly Dumped[]> {
  const all: Dumped[] = [];
  for await (const each of store.dump()) if (each.table !== 'event') all.push(each);
  return all;
}

async function seen(store: Store): Promise<unknown> {
  const refs = NUMBERS.map((no) => ref(no));
  const ids = NUMBERS.map((no) => jobId(`job-${no}`));
  return {
    dump: await dumpOf(store),
    images: await Promise.all(ids.map((id) => store.loadJob(0, id))),
    views: await Promise.all(ids.map((id) => store.job(0, id))),
    tasks: await Promise.all(ids.map((id) => store.task(0, id, taskId('task-0')))),
    inputs: await store.inputs(0, refs),
    results: await store.results(0, refs),
    rows: await store.taskRows(0, refs),
    busy: new Set((await store.loadBusyJobs(0)).map(({ job }) => job.no)),
    dead: await store.deadTasks(0, { limit: 9 }),
  };
}

test.each(Object.entries(LIVES))('a task that %s', async (_, changes) => {
  const { store } = await openTestStore();
  const memory = openMemoryStore({ now: () => instant(0) });
  const leaders = [await TestLeader.of(store, 0), await TestLeader.of(memory, 0)];
  for (const each of [SUBMITTED, STARTED, ...changes]) {
    for (const leader of leaders) await leader.commit(each);
    expect(await seen(store)).toEqual(await seen(memory));
  }
});

test('rows of an older version go on, and an older version finds its rows again', async () => {
  const database = await millraceDatabase();
  onTestFinished(() => database.drop());
  const { url } = database;
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  onTestFinished(() => sql.end());
  const before = async (): Promise<number> =>
    Number((await sql`select count(*) from millrace.task`)[0]?.['count']);
  const store = await openPostgresStore({ url });
  const leader = await TestLeader.of(store, 0);
  await leader.commit(SUBMITTED);
  await leader.commit({
    jobUpdates: [aJob(1, ENDED)],
    taskUpdates: [succeeded(1, 0, { finishedAt: AT }), running(2, 0, { nodeId: nodeId('w-2') })],
    results: [resultOf(1, '1')],
  });
  const rows = await seen(store);
  // The two that are too much for a row.
  expect(await before()).toBe(2);
  await store.close();
  await sql`update millrace.leader set released = true`;
  await migratePostgres({ url }, (all) => all.down(23));
  expect(await before()).toBe(NUMBERS.length);
  expect(await sql`select body from millrace.task_result`).toMatchObject([{ body: '1' }]);
  await migratePostgres({ url }, (all) => all.up());
  const again = await openPostgresStore({ url });
  onTestFinished(() => again.close());
  expect(await seen(again)).toEqual(rows);
  const campaign = await again.campaign({
    ...{ shard: 0, nodeId: 'n', url: null, grpc: null, ttlMs: 600_000 },
    term: leader.term.id,
  });
  if (!campaign.won) throw new Error('nobody else is there');
  const next = new TestLeader(again, campaign.term, campaign.now);
  Object.assign(next, { commitNo: leader.commitNo, nextJobNo: leader.nextJobNo });
  await next.commit({
    jobUpdates: [aJob(2, ENDED), aJob(3, ENDED)],
    taskUpdates: [2, 3].map((no) => succeeded(no, 0, { finishedAt: AT })),
    results: [resultOf(2, '2'), resultOf(3, LONG)],
  });
  const results = await again.results(0, [ref(1), ref(2), ref(3)]);
  expect([...results.values()].toSorted()).toEqual([LONG, '1', '2'].toSorted());
  await again.nodes(0);
  expect(await again.results(0, [ref(2)])).toEqual(new Map([['2/0', '2']]));
  expect(await again.job(0, jobId('job-3'))).toMatchObject({ tasks: [{ result: LONG }] });
});

test('commits that only the journal has are folded on the way down, from an older version too', async () => {
  const database = await millraceDatabase();
  onTestFinished(() => database.drop());
  const { url } = database;
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  onTestFinished(() => sql.end());
  const store = await openPostgresStore({ url, foldAfterMs: 600_000 });
  onTestFinished(() => store.close());
  await (await TestLeader.of(store, 0)).commit(SUBMITTED);
  await sql`update millrace.leader set released = true`;
  // As if the last leader had been of version 23.
  const later = readMigrations(new URL('migrations/', import.meta.url)).slice(23);
  for (const { down } of later.toReversed()) await sql.unsafe(down);
  await sql`delete from millrace.migration where version >= 24`;
  const { current } = await migratePostgres({ url }, (all) => all.down(22));
  expect(current).toBe(22);
  const [row] = await sql`select count(*)::int as tasks from millrace.task`;
  expect(row?.['tasks']).toBe(NUMBERS.length);
});

test('the ids of a list leave no half-empty pages in their index', async () => {
  const { store, url } = await openTestStore();
  const leader = await TestLeader.of(store, 0);
  const numbers = Array.from({ length: 5_000 }, (_, at) => at + 1);
  await leader.commit({ jobInserts: numbers.map((no) => aJob(no, { id: jobId(`list.${no}`) })) });
  await store.nodes(0);
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  onTestFinished(() => sql.end());
  const bytes = async (): Promise<number> =>
    Number((await sql`select pg_relation_size('millrace.job_id') as bytes`)[0]?.['bytes']);
  const asFolded = await bytes();
  await sql`reindex index millrace.job_id`;
  expect(asFolded).toBeLessThan((await bytes()) * 1.1);
});
