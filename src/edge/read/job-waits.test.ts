import { beforeEach, expect, test } from 'vitest';
import type { JobId, JobRow } from '../../scheduler/core/index.ts';
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

/** Whether somebody still waits. */
async function isWaiting(promise: Promise<void>): Promise<boolean> {
  const over = new AbortController();
  void promise.then(() => over.abort());
  await settled();
  return !over.signal.aborted;
}

test('where this node leads, the commit that ends the job wakes whoever waits', async () => {
  const waiting = waits.ended(id, 60_000, never);
  expect(await isWaiting(waiting)).toBe(true);
  waits.wake();
  expect(await isWaiting(waiting)).toBe(true);
  expect(reads).toBe(0);
  // Over in memory, and not committed yet.
  live = false;
  waits.wake();
  expect(await isWaiting(waiting)).toBe(true);
  committed = true;
  waits.wake();
  await waiting;
  expect(reads).toBe(0);
});

test('elsewhere the store is asked now and then', async () => {
  live = null;
  const waiting = waits.ended(id, 60_000, never);
  expect(await isWaiting(waiting)).toBe(true);
  await clock.advance(100);
  expect([await isWaiting(waiting), reads]).toEqual([true, 2]);
  state = 'failed';
  await clock.advance(100);
  await waiting;
});

test('a job that nobody knows, or that is over, is not waited for', async () => {
  live = null;
  state = null;
  await waits.ended(id, 60_000, never);
  state = 'cancelled';
  await waits.ended(id, 60_000, never);
  expect(reads).toBe(2);
});

test('nobody waits longer than he wanted, or after he has gone', async () => {
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
