import { beforeEach, expect, test } from 'vitest';
import type { EventView, JobId, JobRow, LogKind } from '../../scheduler/core/index.ts';
import { settled } from '../../kit/index.ts';
import { VirtualClock } from '../../../test/rig/virtual-clock.ts';
import { JobWaits } from './job-waits.ts';

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
  ({ kind, jobId }) as EventView;

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
  waits.committed({ events: [endOf(id)] });
  expect(await isWaiting(waiting)).toBe(true);
  expect(reads).toBe(0);
  // Over in memory, and not committed yet.
  live = false;
  waits.committed({ events: [endOf(id)] });
  expect(await isWaiting(waiting)).toBe(true);
  committed = true;
  waits.committed({ events: [endOf(id)] });
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
  waits.committed({ events: [endOf('other' as JobId), endOf(id, 'job.started')] });
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
