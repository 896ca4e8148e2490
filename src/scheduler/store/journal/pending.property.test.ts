/** However commits are grouped into folds, the tables are what they would be had each been written by itself. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Workload, operations } from '../../../../test/rig/harness/workload.ts';
import type { Operation } from '../../../../test/rig/harness/workload.ts';
import {
  type Batch,
  type EventRow,
  type EventView,
  instant,
  type TermId,
} from '../../core/index.ts';
import { openMemoryStore, type MemoryStore } from '../memory/memory.ts';
import type { Term } from '../store.ts';
import { catchUp } from './catch-up.ts';
import { updatedJob } from './job-change.ts';
import { packBatch, unpackBatch } from './pack.ts';
import { Pending } from './pending.ts';

const TTL_MS = 60_000;
const TERM = 'term' as TermId;

function batchesOf(each: readonly Operation[]): Batch[] {
  const batches: Batch[] = [];
  const ignore = (): void => {};
  Workload.run(each, ignore, (batch) => batches.push(batch));
  return batches.map((batch, at) => ({
    ...batch,
    commitNo: at + 1,
    events: batch.events.map(withoutNames),
  }));
}

/** The core names the jobs and tasks of its events, for those who follow them. No store keeps that. */
function withoutNames(event: EventRow & Partial<EventView>): EventRow {
  const { jobId: _job, taskId: _task, ...row } = event;
  return row;
}

async function led(): Promise<{ store: MemoryStore; term: Term }> {
  const store = openMemoryStore({ now: () => instant(0) });
  const candidacy = { shard: 0, nodeId: 'n', url: null, grpc: null, term: TERM, ttlMs: TTL_MS };
  const campaign = await store.campaign(candidacy);
  if (!campaign.won) throw new Error('nobody else is there');
  return { store, term: campaign.term };
}

/** Rows have an order of their own only in some tables. */
async function contentOf(store: MemoryStore): Promise<string[]> {
  const rows: string[] = [];
  for await (const { table, row } of store.dump()) {
    rows.push(
      `${table} ${JSON.stringify(Object.entries(row).toSorted(([a], [b]) => (a < b ? -1 : 1)))}`,
    );
  }
  return rows.toSorted();
}

async function committed(batches: readonly Batch[]): Promise<string[]> {
  const { store, term } = await led();
  for (const batch of batches) await store.commit(term, TTL_MS, batch);
  return contentOf(store);
}

/** `sizes` says after how many commits the tables follow. */
async function folded(batches: readonly Batch[], sizes: readonly number[]): Promise<string[]> {
  const { store, term } = await led();
  let pending = new Pending(0);
  let left = sizes[0] ?? 1;
  let turn = 0;
  const fold = async (): Promise<void> => {
    if (!pending.isEmpty) expect(await store.fold(0, pending.fold())).toBe(true);
    pending = new Pending(pending.commitNo);
    turn += 1;
    left = sizes[turn % sizes.length] ?? 1;
  };
  for (const batch of batches) {
    const { body } = packBatch(batch);
    const { commitNo, lastSeq, nextJobNo, events } = batch;
    const record = { commitNo, lastSeq, nextJobNo, eventCount: events.length, foldedNo: 0, body };
    await store.append(term, TTL_MS, record, null);
    if (!pending.add(TERM, unpackBatch(body), 0)) {
      await fold();
      expect(pending.add(TERM, batch, 0)).toBe(true);
    }
    left -= 1;
    if (left === 0) await fold();
  }
  await fold();
  return contentOf(store);
}

/** Folds that leave jobs out, and in between somebody who goes on from what the journal has. */
async function deferring(
  batches: readonly Batch[],
  sizes: readonly number[],
  hows: readonly number[],
): Promise<string[]> {
  const { store, term } = await led();
  let pending = new Pending(0);
  let nowMs = 0;
  const fold = async (how: number): Promise<void> => {
    nowMs += 700;
    const next = pending.next(how === 0 ? null : nowMs);
    if (!pending.isEmpty) expect(await store.fold(0, pending.fold())).toBe(true);
    const { foldedNo, settledNo } = await store.journalState(0);
    expect([foldedNo, settledNo]).toEqual([next.after, next.settledBefore]);
    pending = next;
    if (how === 1) pending = new Pending((await catchUp(store, 0)).commitNo);
  };
  for (const [at, batch] of batches.entries()) {
    const { body } = packBatch(batch);
    const { commitNo, lastSeq, nextJobNo, events } = batch;
    const record = { commitNo, lastSeq, nextJobNo, eventCount: events.length, foldedNo: 0, body };
    await store.append(term, TTL_MS, record, null);
    if (!pending.add(TERM, batch, 0)) {
      await fold(0);
      expect(pending.add(TERM, batch, 0)).toBe(true);
    }
    if (at % (sizes[at % sizes.length] ?? 1) === 0) await fold(hows[at % hows.length] ?? 0);
  }
  await catchUp(store, 0);
  return contentOf(store);
}

test('jobs that folds leave out are written later, by whoever folds then', async () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 6 });
  const hows = fc.array(fc.nat(4), { minLength: 1, maxLength: 7 });
  await fc.assert(
    fc.asyncProperty(operations, sizes, hows, async (each, groups, ways) => {
      const batches = batchesOf(each);
      expect(await deferring(batches, groups, ways)).toEqual(await committed(batches));
    }),
    { numRuns: 25 },
  );
});

test('a batch is the same after it was packed and unpacked', () => {
  fc.assert(
    fc.property(operations, (each) => {
      for (const batch of batchesOf(each)) {
        const { jobUpdates, ...read } = unpackBatch(packBatch(batch).body);
        // Of a job it has what changes.
        const laidOver = jobUpdates.map((row, at) => updatedJob(batch.jobUpdates[at] ?? row, row));
        expect({ ...read, jobUpdates: laidOver }).toEqual(batch);
      }
    }),
    { numRuns: 10 },
  );
});

test('folding commits in groups writes the rows that writing each of them does', async () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(operations, sizes, async (each, groups) => {
      const batches = batchesOf(each);
      expect(await folded(batches, groups)).toEqual(await committed(batches));
    }),
    { numRuns: 12 },
  );
});
