import { beforeEach, describe, expect, test } from 'vitest';
import type { EventView, JobId, JobRow, LogKind, ResultRow } from '../../scheduler/core/index.ts';
import { settled } from '../../kit/index.ts';
import { VirtualClock } from '../../../test/rig/virtual-clock.ts';
import { type CommittedRows, JobWaits } from './job-waits.ts';

const id = 'j' as JobId;
const never = new AbortController().signal;

let clock: VirtualClock;
let state: JobRow['state'] | null;
let live: boolean | null;
let reads: number;
let committed: boolean;
let waits: JobWaits;

beforeEach(() => {
  clock = new VirtualClock();
  state = 'running';
  live = true;
  reads = 0;
  committed = false;
  waits = new JobWaits({
    clock,
    store: {
      jobRow: () => {
        reads += 1;
        return Promise.resolve(state === null ? null : ({ state } as JobRow));
      },
    },
    leader: () =>
      live === null
        ? null
        : { isLive: () => live === true, hasEnded: () => Promise.resolve(committed) },
  });
});

const endOf = (jobId: JobId, kind: LogKind = 'job.succeeded'): EventView =>
  ({ kind, jobId, jobNo: 7 }) as EventView;
const commit = (...events: readonly EventView[]): CommittedRows => ({
  ...{ events, jobUpdates: [], results: [] },
});

/** Whether somebody still waits. */
async function isWaiting(promise: Promise<void>): Promise<boolean> {
  const over = new AbortController();
  void promise.then(() => over.abort());
  await settled();
  return !over.signal.aborted;
}

test('on the leader, the commit that ends the job wakes waiting callers', async () => {
  const waiting = waits.ended(id, 60_000, never);
  expect(await isWaiting(waiting)).toBe(true);
  waits.committed(commit(endOf(id)));
  expect(await isWaiting(waiting)).toBe(true);
  expect(reads).toBe(0);
  // Over in memory, and not committed yet.
  live = false;
  waits.committed(commit(endOf(id)));
  expect(await isWaiting(waiting)).toBe(true);
  committed = true;
  waits.committed(commit(endOf(id)));
  await waiting;
  expect(reads).toBe(0);
});

test('other commits wake nobody', async () => {
  let looks = 0;
  const leader = { isLive: () => (looks += 1) > 0, hasEnded: () => Promise.resolve(false) };
  const store = { jobRow: () => Promise.resolve(null) };
  waits = new JobWaits({ clock, store, leader: () => leader });
  const waiting = waits.ended(id, 60_000, never);
  expect(await isWaiting(waiting)).toBe(true);
  waits.committed(commit(endOf('other' as JobId), endOf(id, 'job.started')));
  expect([await isWaiting(waiting), looks]).toEqual([true, 1]);
});

test('after the end of a term waiting callers poll the store', async () => {
  const waiting = waits.ended(id, 60_000, never);
  expect(await isWaiting(waiting)).toBe(true);
  live = null;
  state = 'succeeded';
  await clock.advance(1_000);
  await waiting;
});

test('on other nodes the store is polled', async () => {
  live = null;
  const waiting = waits.ended(id, 60_000, never);
  expect(await isWaiting(waiting)).toBe(true);
  await clock.advance(100);
  expect([await isWaiting(waiting), reads]).toEqual([true, 2]);
  state = 'failed';
  await clock.advance(100);
  await waiting;
});

test('an unknown or ended job is not waited for', async () => {
  live = null;
  state = null;
  await waits.ended(id, 60_000, never);
  state = 'cancelled';
  await waits.ended(id, 60_000, never);
  expect(reads).toBe(2);
});

test('a wait ends with its timeout or its abort', async () => {
  const waiting = waits.ended(id, 1_000, never);
  await clock.advance(999);
  expect(await isWaiting(waiting)).toBe(true);
  await clock.advance(1);
  await waiting;
  const gone = new AbortController();
  const other = waits.ended(id, 1_000, gone.signal);
  gone.abort();
  await other;
  await waits.ended(id, 1_000, AbortSignal.abort());
});

describe('without a promise for each', () => {
  const job = { no: 7, state: 'succeeded', run: 2, taskCount: 1, output: null } as JobRow;
  const result = { jobNo: 7, taskNo: 0, run: 2, body: '{"n":1}' } as ResultRow;
  let heard: (string | null)[];
  beforeEach(() => (heard = []));
  const wait = () => waits.whenEnded(id, (text) => heard.push(text));

  test('the commit that ends a job brings its result, once', () => {
    expect(wait()).not.toBeNull();
    waits.committed({ ...commit(endOf('other' as JobId)), jobUpdates: [job], results: [result] });
    expect(heard).toEqual([]);
    const end = { ...commit(endOf(id)), jobUpdates: [job], results: [result] };
    waits.committed(end);
    waits.committed(end);
    expect(heard).toEqual(['{"n":1}']);
  });

  test.each([
    ['several tasks', { taskCount: 2 }, {}],
    ['an output of its own', { output: '{}' }, {}],
    ['another run', { run: 3 }, {}],
    ['no success', { state: 'failed' }, {}],
    ['a large result', {}, { body: 'x'.repeat(2 ** 20 + 1) }],
  ] as const)('with %s somebody has to look', (_, of, its) => {
    wait();
    const jobUpdates = [{ ...job, ...of } as JobRow];
    waits.committed({ ...commit(endOf(id)), jobUpdates, results: [{ ...result, ...its }] });
    expect(heard).toEqual([null]);
  });

  test('somebody has to look when the job is not one that goes on here', async () => {
    live = false;
    expect(wait()).toBeNull();
    live = true;
    wait();
    live = null;
    await clock.advance(1_000);
    expect(heard).toEqual([null]);
  });

  test('whoever leaves hears nothing, and the others are', () => {
    const leave = wait();
    wait();
    leave?.();
    waits.committed(commit(endOf(id, 'job.failed')));
    expect(heard).toEqual([null]);
  });
});
