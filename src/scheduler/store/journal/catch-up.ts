/**
 * Brings the tables forward from what the journal has, whoever has appended it. A fold may have left out jobs that went on; of
 * those, the records since `settledNo` have the rows, and the tables say which they are: they have none of them.
 */
import {
  type Batch,
  batchOf,
  isMillraceError,
  type JobNo,
  MillraceError,
} from '../../core/index.ts';
import type { Counters } from '../store.ts';
import { unpackBatch } from './pack.ts';
import { Pending } from './pending.ts';
import type { JournalRecord, JournalState, JournalTables } from './port.ts';

const RECORDS_AT_ONCE = 200;

/** Returns where the tables are then. */
export async function catchUp(tables: JournalTables, shard: number): Promise<Counters> {
  for (;;) {
    const state = await tables.journalState(shard);
    const { head, foldedNo } = state;
    const isSettled = settledIn(state) === foldedNo;
    if (foldedNo === head.commitNo && isSettled) return head;
    const first = isSettled ? null : await deferredIn(tables, shard, state);
    const records = await tables.journal(shard, foldedNo, RECORDS_AT_ONCE);
    const [pending] = layersOf(records, first);
    // False: somebody else was faster. What is left then shows the next look.
    if (pending !== undefined) await foldOne(tables, shard, pending);
  }
}

export function settledIn({ foldedNo, settledNo = foldedNo }: JournalState): number {
  return settledNo;
}

/** Records that are not in the tables, oldest first, merged as far as they can be. `first`: what comes before them. */
export function layersOf(
  records: readonly JournalRecord[],
  first: Pending | null = null,
): readonly Pending[] {
  const layers: Pending[] = first === null ? [] : [first];
  for (const { commitNo, term, body } of records) {
    const batch = unpackBatch(body);
    if (layers.at(-1)?.add(term, batch, body.length) === true) continue;
    const next = new Pending(commitNo - 1);
    next.add(term, batch, body.length);
    layers.push(next);
  }
  return layers;
}

/** The jobs that folds have left out; null when they are in the tables meanwhile. */
async function deferredIn(
  tables: JournalTables,
  shard: number,
  state: JournalState,
): Promise<Pending | null> {
  const settledNo = settledIn(state);
  const records: JournalRecord[] = [];
  while (settledNo + records.length < state.foldedNo) {
    const at = settledNo + records.length;
    const found = await tables.journal(shard, at, RECORDS_AT_ONCE);
    if (found[0]?.commitNo !== at + 1) return null;
    records.push(...found.filter(({ commitNo }) => commitNo <= state.foldedNo));
  }
  const batches = records.map(({ body }) => unpackBatch(body));
  const inserted = batches.flatMap(({ jobInserts }) => jobInserts.map(({ no }) => no));
  const stored = (await tables.storedJobs?.(shard, inserted)) ?? new Set();
  const missing = new Set(inserted.filter((no) => !stored.has(no)));
  const pending = new Pending(settledNo);
  for (const [at, { term, body }] of records.entries()) {
    const batch = batches[at];
    if (batch !== undefined) pending.add(term, rowsOf(batch, missing), body.length, []);
  }
  return pending.rest();
}

/** Jobs that are left out have nothing else. The events are there for their numbers. */
function rowsOf(batch: Batch, jobs: ReadonlySet<JobNo>): Batch {
  const { commitNo, lastSeq, nextJobNo, events } = batch;
  const isOf = ({ jobNo }: { readonly jobNo: JobNo }): boolean => jobs.has(jobNo);
  const isOne = ({ no }: { readonly no: JobNo }): boolean => jobs.has(no);
  return batchOf({
    ...{ commitNo, lastSeq, nextJobNo, events },
    jobInserts: batch.jobInserts.filter(isOne),
    jobUpdates: batch.jobUpdates.filter(isOne),
    specInserts: batch.specInserts.filter(isOf),
    taskInserts: batch.taskInserts.filter(isOf),
    taskUpdates: batch.taskUpdates.filter(isOf),
  });
}

/** Whether it failed or has an unknown outcome: the journal has it all, and where the tables are is seen the next time. */
export async function foldOne(
  tables: JournalTables,
  shard: number,
  pending: Pending,
): Promise<boolean> {
  return tables.fold(shard, pending.fold()).catch((error: unknown) => {
    throw isMillraceError(error, 'store_unavailable') ? error : notFolded(error);
  });
}

export function notFolded(cause: unknown): MillraceError {
  return new MillraceError({
    code: 'store_unavailable',
    what: 'The tables could not be brought up to the journal.',
    why: String(cause),
    todo: 'Nothing that was committed is lost. Check the database; it is tried again.',
    cause,
  });
}
