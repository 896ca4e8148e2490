import { expect, test } from 'vitest';
import {
  canonicalJson,
  instant,
  type Json,
  jobNo,
  taskNo,
} from '../../../src/scheduler/core/index.ts';
import { type Dumped, openMemoryStore, type Store } from '../../../src/scheduler/store/index.ts';
import type { Bench } from './bench.ts';
import { shardContent, TestLeader } from './leader.ts';
import { AT, aJob, aKey, anEvent, aNode, aSchedule, aSignal, aSpec, aTask } from './rows.ts';
import { jobId, running, succeeded } from './rows.ts';

const ref = (job: number, task: number) => ({ jobNo: jobNo(job), taskNo: taskNo(task) });

/** Rows of every table in two shards, with the numbers that are hardest to keep. */
export function manyRows(): Dumped[] {
  const last = Number.MAX_SAFE_INTEGER;
  const far = instant(8_640_000_000_000_000);
  const text = '🦆 "quoted" \\ \n';
  const error = { code: 'boom', message: text };
  const job = aJob(last - 1, { id: jobId('far'), totalMs: last, createdAt: far, error });
  const waits = '{"signals":[],"jobs":[]}';
  return [
    { table: 'counters', row: { shard: 0, lastSeq: last, nextJobNo: jobNo(last) } },
    { table: 'job', row: aJob(1, { idempotencyKey: text, name: '', output: '{"a": 1.0}' }) },
    { table: 'job', row: job },
    { table: 'spec', row: aSpec(1, 0, { dependsOn: [1, ~2], input: '"\\u0000\\ud800"' }) },
    { table: 'spec', row: aSpec(1, 1, { idempotencyKey: text, parentNo: taskNo(0) }) },
    { table: 'task', row: running(1, 0, { error, run: 2, progress: 0.1 }) },
    { table: 'task', row: aTask(1, 1, { state: 'blocked', suspended: 'job', waits }) },
    { table: 'history', row: succeeded(1, 0, { state: 'failed', error, waits }) },
    { table: 'result', row: { ...ref(1, 0), run: 1, body: '9007199254740993' } },
    { table: 'result', row: { ...ref(1, 1), run: 1, body: '""' } },
    { table: 'step', row: { ...ref(1, 0), run: 2, name: text, body: '{ "a": 1.0 }' } },
    { table: 'signal', row: aSignal(1, 0, { id: text, name: text, taken: true }) },
    { table: 'signal', row: aSignal(1, 2, { sentAt: far, body: '"\\u0000"' }) },
    { table: 'key', row: aKey('pending') },
    { table: 'key', row: aKey(text, { state: 'completed', result: '{}', updatedAt: far }) },
    { table: 'node', row: aNode('w-1', { executors: [text, ''], address: null }) },
    { table: 'schedule', row: aSchedule('s-1', { lastJobId: jobId('far'), lastAt: AT }) },
    { table: 'limit', row: { id: 'rate/api', state: '{}' } },
    { table: 'operator', row: { id: 'tokenize', declaration: '{"name":"tokenize"}' } },
    { table: 'flow', row: { id: 'order', declaration: '[{"name":"order"}]' } },
    { table: 'inbox', row: { no: 5, jobId: jobId('from-sql'), document: '{"tasks":[]}' } },
    { table: 'inbox', row: { no: last, jobId: jobId('later'), document: 'not json' } },
    { table: 'event', row: anEvent(last - 1, { kind: 'dead', ...ref(1, 0), detail: '{}' }) },
    { table: 'event', row: anEvent(last, { at: far, run: 1, attempt: 2, fence: 3 }) },
    { table: 'counters', row: { shard: 7, lastSeq: 0, nextJobNo: jobNo(3) } },
    { table: 'job', row: aJob(1, { state: 'failed', finishedAt: AT }) },
    { table: 'spec', row: aSpec(1, 0) },
    { table: 'task', row: aTask(1, 0, { state: 'skipped', finishedAt: AT }) },
  ];
}

async function* stream(rows: readonly Dumped[]): AsyncIterable<Dumped> {
  yield* rows;
}

/** The rows of a store with the shard of each, in an order that does not depend on the store. */
export async function contentOf(store: Store): Promise<string[]> {
  const lines: string[] = [];
  let shard = -1;
  for await (const { table, row } of store.dump()) {
    if (table === 'counters') shard = row.shard;
    lines.push(`${shard} ${table} ${canonicalJson(row as unknown as Json)}`);
  }
  return lines.toSorted();
}

const memory = (): Store => openMemoryStore({ now: () => AT });

export function movingTests({ withOpened }: Bench): void {
  test('out of memory and back again loses nothing', async () => {
    const source = memory();
    await source.fill(stream(manyRows()));
    await withOpened(async ({ store }) => {
      expect(await store.fill(source.dump())).toBe(manyRows().length);
      expect(await contentOf(store)).toEqual(await contentOf(source));
      const target = memory();
      await target.fill(store.dump());
      expect(await contentOf(target)).toEqual(await contentOf(source));
    });
  });

  test('gives rows table by table, those of a shard after its counters', async () => {
    await withOpened(async ({ store }) => {
      await store.fill(stream(manyRows()));
      const tables: string[] = [];
      for await (const { table } of store.dump()) if (tables.at(-1) !== table) tables.push(table);
      const order = [...new Set(manyRows().map(({ table }) => table))];
      expect(tables).toEqual([...order, 'counters', 'job', 'spec', 'task']);
    });
  });

  test('gives a store that a leader can go on with', async () => {
    const source = memory();
    const before = await TestLeader.of(source, 0);
    await before.submit(aJob(1), [aSpec(1, 0)], [running(1, 0)]);
    await before.commit({ events: [ref(1, 0), {}] });
    await withOpened(async ({ store }) => {
      await store.fill(source.dump());
      const after = await TestLeader.of(store, 0);
      after.lastSeq = 2;
      after.nextJobNo = 2;
      await after.commit({ jobInserts: [aJob(2)], taskUpdates: [succeeded(1, 0)], events: [{}] });
      expect(await shardContent(store, 0)).toMatchObject({ lastSeq: 3, nextJobNo: 3 });
      const events = await store.events(0, 0, 9);
      expect(events.map((event) => event.taskId)).toEqual(['task-0', null, null]);
    });
  });

  test('gives the inbox in order, and its rows are deleted by number', async () => {
    await withOpened(async ({ store }) => {
      await store.fill(stream(manyRows()));
      const inbox = await store.inbox(7, 9);
      expect(inbox).toEqual([]);
      expect((await store.inbox(0, 1)).map((row) => row.jobId)).toEqual(['from-sql']);
      const leader = await TestLeader.of(store, 0);
      leader.lastSeq = Number.MAX_SAFE_INTEGER;
      leader.nextJobNo = Number.MAX_SAFE_INTEGER;
      await leader.commit({ inboxDeletes: [5] });
      expect((await store.inbox(0, 9)).map((row) => row.jobId)).toEqual(['later']);
    });
  });

  test('into a store that is not empty is refused and changes nothing', async () => {
    await withOpened(async ({ store }) => {
      const leader = await TestLeader.of(store, 3);
      await leader.commit({ nodeUpserts: [aNode('w-1')] });
      const before = await contentOf(store);
      await expect(store.fill(stream(manyRows()))).rejects.toMatchObject({ code: 'conflict' });
      expect(await contentOf(store)).toEqual(before);
    });
  });

  test('that fails half-way leaves an empty store, ready for the next try', async () => {
    await withOpened(async ({ store }) => {
      const bad: Dumped = { table: 'task', row: running(1, 0, { sessionId: null }) };
      await expect(store.fill(stream([...manyRows(), bad]))).rejects.toMatchObject({
        code: 'bad_row',
      });
      const stray: Dumped = { table: 'signal', row: aSignal(9, 0) };
      await expect(store.fill(stream([...manyRows(), stray]))).rejects.toMatchObject({
        code: 'bad_row',
      });
      const gap: Dumped = { table: 'event', row: anEvent(5) };
      await expect(store.fill(stream([...manyRows(), gap]))).rejects.toMatchObject({
        code: 'bad_row',
      });
      async function* torn(): AsyncIterable<Dumped> {
        yield* manyRows();
        throw new Error('the file ends here');
      }
      await expect(store.fill(torn())).rejects.toThrow('the file ends here');
      expect(await contentOf(store)).toEqual([]);
      expect(await store.fill(stream(manyRows()))).toBe(manyRows().length);
    });
  });

  test('of an empty store gives nothing', async () => {
    await withOpened(async ({ store }) => {
      expect(await contentOf(store)).toEqual([]);
      expect(await store.fill(stream([]))).toBe(0);
    });
  });
}
