import { beforeEach, expect, test } from 'vitest';
import { fragmentResult, queryJob, samplePlan } from '../../../test/rig/query-job.ts';
import type { JobId } from '../../scheduler/core/index.ts';
import type { FragmentResult } from '../../sql/plan/index.ts';
import type { Store } from '../../scheduler/store/index.ts';
import { type Led, ScriptedWorker, lead, memoryStore } from '../../../test/rig/lead.ts';
import { VirtualClock } from '../../../test/rig/virtual-clock.ts';
import { QueryViews } from './query-views.ts';

const TTL_MS = 60_000;
const id = 'q-1' as JobId;

let clock: VirtualClock;
let store: Store;
let led: Led;
let views: QueryViews;
let reads: string[];

beforeEach(async () => {
  clock = new VirtualClock();
  store = memoryStore(clock);
  led = await lead(store, clock);
  await led.leader.loaded;
  reads = [];
  views = new QueryViews({ store: watched(store, reads), clock, resultTtlMs: TTL_MS });
});

/** Notes which results are read. */
function watched(inner: Store, noted: string[]): Store {
  return new Proxy(inner, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]): unknown => {
        if (name === 'results' || name === 'task') noted.push(`${name} ${JSON.stringify(args[1])}`);
        return value.apply(target, args) as unknown;
      };
    },
  });
}

async function submitted(more: object = {}): Promise<void> {
  const { document, seeds } = queryJob(samplePlan, more);
  await led.leader.jobs.submitParsed(document, { jobId: id, seeds });
}

/** Completes what is handed out; answers the tasks. */
async function runOnce(
  worker: ScriptedWorker,
  more: Partial<FragmentResult> = {},
): Promise<string[]> {
  const assignments = await worker.pollNow(10);
  for (const { lease, taskId } of assignments) {
    await worker.complete(lease, fragmentResult(taskId, more));
  }
  return assignments.map(({ taskId }) => taskId);
}

test('a query is shown with its stages, from waiting to succeeded', async () => {
  await submitted();
  const { value: fresh } = await views.query(id);
  expect(fresh).toMatchObject({
    id,
    sql: 'select a from t',
    columns: [{ name: 'a', type: 'BIGINT' }],
    error: null,
    expiresAt: null,
    stages: [
      {
        id: 0,
        state: 'waiting',
        output: 'hash(2)',
        tasks: { total: 2, queued: 2 },
        elapsedMs: null,
      },
      { id: 1, state: 'waiting', output: 'result', inputs: [{ stage: 0, mode: 'all' }] },
    ],
  });
  const worker = await ScriptedWorker.join(led.leader, 'w', ['sql.fragment']);
  expect(await runOnce(worker)).toEqual(['s0.0', 's0.1']);
  const { value: half } = await views.query(id);
  expect(half).toMatchObject({
    state: 'running',
    stages: [
      {
        state: 'succeeded',
        tasks: { succeeded: 2, queued: 0 },
        rowsIn: 200,
        rowsOut: 20,
        bytesOut: 100,
        fetchedBytes: 14,
        workMs: 12,
        partitionBytes: [40, 60],
      },
      { state: 'waiting', rowsOut: 0, partitionBytes: [] },
    ],
  });
  await runOnce(worker, { parts: [{ rows: 1, bytes: 9, segments: [] }] });
  const { value: done } = await views.query(id);
  expect(done).toMatchObject({ state: 'succeeded', stages: [{}, { state: 'succeeded' }] });
  const [finished = 0, expires] = [done?.finishedAt, done?.expiresAt].map((at) => at?.getTime());
  expect(expires).toBe(finished + TTL_MS);
});

test('cached results are not read again', async () => {
  await submitted();
  await views.query(id);
  await views.query(id);
  expect(reads.filter((read) => read.startsWith('task'))).toHaveLength(1);
  expect(reads.filter((read) => read.startsWith('results'))).toEqual([]);
  const worker = await ScriptedWorker.join(led.leader, 'w', ['sql.fragment']);
  await runOnce(worker);
  for (let times = 0; times < 3; times += 1) await views.query(id);
  expect(reads.filter((read) => read.startsWith('results'))).toHaveLength(1);
  await runOnce(worker);
  for (let times = 0; times < 3; times += 1) await views.query(id);
  expect(reads.filter((read) => read.startsWith('results'))).toHaveLength(2);
  const soon = await views.record(id);
  expect(soon?.parts.map(({ at }) => at.task)).toEqual(['s1.0']);
  expect(reads.filter((read) => read.startsWith('results'))).toHaveLength(2);
  await clock.advance(61_000);
  const late = await views.record(id);
  expect(late).toMatchObject({ state: 'succeeded', parts: soon?.parts });
  expect((late?.now ?? 0) - (soon?.now ?? 0)).toBe(61_000);
  expect(reads.filter((read) => read.startsWith('results'))).toHaveLength(3);
});

/** What is read at the same time, one list after the other. */
function inTurns(inner: Store): { readonly store: Store; readonly turns: string[][] } {
  const turns: string[][] = [];
  let open = 0;
  const store = new Proxy(inner, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return async (...args: unknown[]): Promise<unknown> => {
        if (open === 0) turns.push([]);
        turns.at(-1)?.push(String(name));
        open += 1;
        try {
          return await (value.apply(target, args) as Promise<unknown>);
        } finally {
          open -= 1;
        }
      };
    },
  });
  return { store, turns };
}

test('an ended query that was submitted here takes two reads, then one', async () => {
  const { store: noted, turns } = inTurns(store);
  const isOver = (): boolean => true;
  const own = new QueryViews({ store: noted, clock, resultTtlMs: TTL_MS, isOver });
  await submitted();
  own.tell(id, JSON.stringify(samplePlan));
  const worker = await ScriptedWorker.join(led.leader, 'w', ['sql.fragment']);
  await runOnce(worker);
  await runOnce(worker);
  const { value } = await own.query(id);
  expect(turns).toEqual([
    ['lastSeq', 'jobRow'],
    ['taskRows', 'results'],
  ]);
  expect(value).toEqual((await views.query(id)).value);
  expect((await own.record(id))?.parts.map(({ at }) => at.task)).toEqual(['s1.0']);
  expect(turns).toHaveLength(2);
  await own.query(id);
  expect(turns.slice(2)).toEqual([['lastSeq']]);
});

test('a finished query is shown from memory no longer than it is retained', async () => {
  const { store: noted, turns } = inTurns(store);
  const options = { store: noted, clock, resultTtlMs: TTL_MS, retentionMs: 2_000 };
  const own = new QueryViews({ ...options, isOver: () => true });
  await submitted();
  const worker = await ScriptedWorker.join(led.leader, 'w', ['sql.fragment']);
  await runOnce(worker);
  await runOnce(worker);
  await own.query(id);
  const times = turns.length;
  await own.query(id);
  expect(turns.slice(times)).toEqual([['lastSeq']]);
  await clock.advance(2_000);
  await own.query(id);
  expect(turns.slice(times + 1).flat()).toContain('jobRow');
});

test('the state of a query that seems to have ended is read after the head of the log', async () => {
  await submitted();
  const worker = await ScriptedWorker.join(led.leader, 'w', ['sql.fragment']);
  const { store: noted, turns } = inTurns(store);
  // While the head is read, a stage ends: the answer must have that.
  const slow = new Proxy(noted, {
    get(target, name) {
      if (name !== 'lastSeq') return Reflect.get(target, name) as unknown;
      return async (shard: number) => {
        await runOnce(worker);
        return target.lastSeq(shard);
      };
    },
  });
  const own = new QueryViews({ store: slow, clock, resultTtlMs: TTL_MS, isOver: () => true });
  const { value, asOf } = await own.query(id);
  expect(asOf.seq).toBe((await store.lastSeq(0)).seq);
  expect(value).toMatchObject({
    state: 'running',
    stages: [{ state: 'succeeded', rowsOut: 20 }, {}],
  });
  expect(turns.flat().filter((name) => name === 'jobRow')).toHaveLength(2);
});

test('a recomputed task has the metrics of its last run', async () => {
  const own = new QueryViews({ store, clock, resultTtlMs: TTL_MS, isOver: () => true });
  await submitted();
  own.tell(id, JSON.stringify(samplePlan));
  const worker = await ScriptedWorker.join(led.leader, 'w', ['sql.fragment']);
  const scans = await worker.pollNow(10);
  for (const { lease, taskId } of scans) await worker.complete(lease, fragmentResult(taskId));
  expect((await own.query(id)).value?.stages[0]).toMatchObject({ rowsOut: 20 });
  const [reader] = await worker.pollNow(1);
  const { taskId, lease } = scans[0]!;
  const error = { code: 'input_lost', message: 'Deleted.' };
  await led.leader.workers.report(worker.session, [
    { kind: 'inputLost', lease: reader!.lease, lost: [{ taskId, fence: lease.fence }], error },
  ]);
  expect((await own.query(id)).value?.stages[0]?.rowsOut).toBeLessThan(20);
  const { metrics } = fragmentResult('any');
  const more = { metrics: { ...metrics, rowsOut: 7 } };
  const again: string[] = [];
  for (let made = await runOnce(worker, more); made.length > 0;) {
    again.push(...made);
    await clock.advance(1_000);
    made = await runOnce(worker, more);
  }
  expect(again).toContain(taskId);
  const { value } = await own.query(id);
  const counted = again.filter((each) => each.startsWith('s0.')).length;
  expect(value).toMatchObject({ state: 'succeeded' });
  expect(value?.stages.map(({ rowsOut }) => rowsOut)).toEqual([
    counted * 7 + (2 - counted) * 10,
    7,
  ]);
});

test('a plan that was announced long ago, or is long, is read from the store', async () => {
  await submitted();
  views.tell(id, JSON.stringify(samplePlan));
  await clock.advance(60_000);
  await views.query(id);
  expect(reads.filter((read) => read.startsWith('task'))).toHaveLength(1);
  const fresh = new QueryViews({ store: watched(store, reads), clock, resultTtlMs: TTL_MS });
  fresh.tell(id, JSON.stringify({ ...samplePlan, sql: 'x'.repeat(300_000) }));
  expect((await fresh.query(id)).value?.sql).toBe(samplePlan.sql);
  expect(reads.filter((read) => read.startsWith('task'))).toHaveLength(2);
});

test('plans are cached up to a number of characters', async () => {
  await submitted();
  const { document, seeds } = queryJob(samplePlan);
  const other = 'q-2' as JobId;
  await led.leader.jobs.submitParsed(document, { jobId: other, seeds });
  const planCharsMax = JSON.stringify(samplePlan).length;
  const limits = { clock, resultTtlMs: TTL_MS, planCharsMax };
  const small = new QueryViews({ store: watched(store, reads), ...limits });
  for (const each of [id, id, other, other, id]) await small.query(each);
  expect(reads.filter((read) => read.startsWith('task'))).toHaveLength(3);
});

test('a plan announced for a job that is not a query is ignored', async () => {
  views.tell('other' as JobId, JSON.stringify(samplePlan));
  await led.leader.jobs.submit(
    { tasks: [{ id: 'a', executor: 'echo' }] },
    { jobId: 'other' as JobId },
  );
  expect((await views.query('other' as JobId)).value).toBeNull();
});

test('the error of a query is that of the task that failed', async () => {
  await submitted();
  const worker = await ScriptedWorker.join(led.leader, 'w', ['sql.fragment']);
  const [first] = await worker.pollNow(1);
  const error = { code: 'query_failed', message: 'Conversion Error: x is not a number' };
  await led.leader.workers.report(worker.session, [
    { kind: 'failed', lease: first!.lease, error, failure: 'fatal' },
  ]);
  await runOnce(worker);
  expect((await views.query(id)).value).toMatchObject({
    state: 'failed',
    error,
    stages: [{ state: 'failed', tasks: { failed: 1 } }, { state: 'cancelled' }],
  });
  expect(await views.record(id)).toMatchObject({ state: 'failed', error, parts: [] });
});

test('the record of a query that is done has what its last stage answered', async () => {
  await submitted();
  const worker = await ScriptedWorker.join(led.leader, 'w', ['sql.fragment']);
  await runOnce(worker);
  expect(await views.record(id)).toMatchObject({ state: 'running', parts: [], expiresAt: null });
  await runOnce(worker);
  const record = await views.record(id);
  expect(record?.parts.map(({ at }) => at.task)).toEqual(['s1.0']);
  expect(record?.expiresAt).toBeGreaterThan(record?.now ?? Infinity);
  await views.query(id);
  await clock.advance(1_000);
  const again = await views.record(id);
  expect(again).toMatchObject({ parts: record?.parts, expiresAt: record?.expiresAt });
  expect(again?.now).toBe((record?.now ?? 0) + 1_000);
});

test('other jobs are not queries, even if they look like one', async () => {
  const echo = { id: 'plan', executor: 'echo', input: 1 };
  const output = { columns: { $from: 'plan' } };
  await led.leader.jobs.submit({ tasks: [echo], output }, { jobId: 'sly' as JobId });
  await led.leader.jobs.submit({ tasks: [echo] }, { jobId: 'other' as JobId });
  for (const other of ['sly', 'other', 'nobody'] as JobId[]) {
    expect((await views.query(other)).value).toBeNull();
    expect(await views.record(other)).toBeNull();
  }
});

test('a list has the queries only, in pages, newest first', async () => {
  for (let no = 0; no < 5; no += 1) {
    const { document, seeds } = queryJob();
    await led.leader.jobs.submitParsed(document, { jobId: `q${no}` as JobId, seeds });
    await led.leader.jobs.submit(
      { tasks: [{ id: 'a', executor: 'echo' }] },
      { jobId: `j${no}` as JobId },
    );
  }
  await led.leader.jobs.cancel('q3' as JobId, 'no');
  const first = await views.queries({ limit: 2 });
  expect(first.value.items.map((item) => item.id)).toEqual(['q4', 'q3']);
  expect(first.value.items[0]).toMatchObject({ name: 'sql: select a from t', error: null });
  const { cursor } = first.value;
  const second = await views.queries({ limit: 2, cursor: cursor ?? '' });
  expect(second.value.items.map((item) => item.id)).toEqual(['q2', 'q1']);
  const third = await views.queries({ limit: 2, cursor: second.value.cursor ?? '' });
  expect(third.value).toMatchObject({ items: [{ id: 'q0' }], cursor: null });
  const cancelled = await views.queries({ limit: 9, state: 'cancelled' });
  expect(cancelled.value.items.map((item) => item.id)).toEqual(['q3']);
});
