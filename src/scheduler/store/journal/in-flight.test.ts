/** Commits that follow on one that is not answered: they rest on it, and nobody reads it. */
import { beforeEach, expect, test } from 'vitest';
import {
  aJob,
  aKey,
  aSignal,
  aSpec,
  aTask,
  running,
  succeeded,
} from '../../../../test/rig/conformance/rows.ts';
import { settled } from '../../../../test/rig/virtual-clock.ts';
import { deferred, VirtualClock } from '../../../kit/index.ts';
import {
  type Batch,
  batchOf,
  type ErrorCode,
  instant,
  type JobId,
  jobNo,
  MillraceError,
  taskNo,
  type TermId,
} from '../../core/index.ts';
import { type MemoryStore, openMemoryStore } from '../memory/memory.ts';
import type { Store, Term } from '../store.ts';
import { journaled } from './journaled-store.ts';

const TTL_MS = 60_000;

interface HeldAppend {
  readonly unproven: Batch | null;
  readonly answer: () => void;
  readonly fail: (error: MillraceError) => void;
}

let tables: MemoryStore;
let store: Store;
let term: Term;
/** Each is made at once, and answered when the test says so. */
let held: HeldAppend[];
/** What is to be said of the next one instead, which is not made then. */
let refusal: MillraceError | null;

async function lead(commitsAtOnce: number | undefined): Promise<void> {
  const memory = openMemoryStore({ now: () => instant(0) });
  const append = memory.append.bind(memory);
  held = [];
  refusal = null;
  tables = Object.assign(memory, {
    commitsAtOnce,
    append: async (...given: Parameters<MemoryStore['append']>) => {
      const heard = deferred();
      held.push({ unproven: given[3], answer: heard.resolve, fail: heard.reject });
      const refused = refusal;
      refusal = null;
      const made = refused === null ? append(...given) : Promise.reject(refused);
      made.catch(() => {});
      await heard.promise;
      return made;
    },
  });
  store = journaled(tables, { clock: new VirtualClock(), foldAfterMs: 100 });
  const candidacy = { shard: 0, nodeId: 'n', url: null, grpc: null };
  const campaign = await store.campaign({ ...candidacy, term: 'term' as TermId, ttlMs: TTL_MS });
  if (!campaign.won) throw new Error('nobody else is there');
  term = campaign.term;
}

beforeEach(() => lead(4));

/** What has become of it, once it is known. */
async function commit(commitNo: number, parts: Partial<Batch>): Promise<{ outcome: string }> {
  const nextJobNo = jobNo(commitNo + 1);
  const seen = { outcome: 'waits' };
  store.commit(term, TTL_MS, batchOf({ lastSeq: 0, nextJobNo, ...parts, commitNo })).then(
    () => (seen.outcome = 'made'),
    (error: unknown) => (seen.outcome = error instanceof MillraceError ? error.code : 'error'),
  );
  await settled();
  return seen;
}

const newJob = (no: number): Partial<Batch> => ({
  jobInserts: [aJob(no)],
  specInserts: [aSpec(no, 0)],
  taskInserts: [aTask(no, 0)],
});
const idOf = (no: number): JobId => aJob(no).id;
const fault = (code: ErrorCode): MillraceError => new MillraceError({ code, what: code });

test('the rows of a commit prove those of the next, before it is answered', async () => {
  await commit(1, newJob(1));
  await commit(2, { taskUpdates: [running(1, 0)], nextJobNo: jobNo(2) });
  const result = { jobNo: jobNo(1), taskNo: taskNo(0), run: 1, body: '2' };
  await commit(3, { taskUpdates: [succeeded(1, 0)], results: [result], nextJobNo: jobNo(2) });
  expect(held.slice(1).map(({ unproven }) => unproven)).toEqual([null, null]);
});

test('what a commit that is not answered has already is refused in the next', async () => {
  await commit(1, newJob(1));
  const twice = await commit(2, { ...newJob(2), jobInserts: [{ ...aJob(2), id: idOf(1) }] });
  expect(twice.outcome).toBe('bad_row');
  expect(held).toHaveLength(1);
});

test('a key that a commit that is not answered has given away is refused in the next', async () => {
  await commit(1, { ...newJob(1), jobInserts: [aJob(1, { idempotencyKey: 'k' })] });
  const twice = await commit(2, {
    ...newJob(2),
    jobInserts: [aJob(2, { idempotencyKey: 'k' })],
  });
  expect(twice.outcome).toBe('bad_row');
  expect(held).toHaveLength(1);
});

test('a result is copied from a key that a commit that is not answered has completed', async () => {
  const key = aKey('k', { state: 'completed', jobNo: jobNo(1), taskNo: taskNo(0), result: '7' });
  await commit(1, { ...newJob(1), keyUpserts: [key] });
  const copied = { jobNo: jobNo(2), taskNo: taskNo(0), run: 1, scope: key.scope };
  await commit(2, { ...newJob(2), copiedResults: [copied] });
  expect(held.map(({ unproven }) => unproven?.copiedResults ?? [])).toEqual([[], []]);
});

test('a signal that came with a commit that is not answered is taken once', async () => {
  await commit(1, { ...newJob(1), signalInserts: [aSignal(1, 0)] });
  const taken = { jobNo: jobNo(1), signalNo: 0, taskNo: taskNo(0), run: 1, step: 's' };
  await commit(2, { takenSignals: [taken], nextJobNo: jobNo(2) });
  expect(held[1]?.unproven).toBeNull();
  const again = await commit(3, {
    takenSignals: [{ ...taken, step: 't' }],
    nextJobNo: jobNo(2),
  });
  expect(again.outcome).toBe('bad_row');
});

test('nobody reads a commit before it is answered, with all those before it', async () => {
  await commit(1, newJob(1));
  await commit(2, newJob(2));
  const seen = async (): Promise<readonly boolean[]> => {
    const taken = await store.takenIds(0, [idOf(1), idOf(2)]);
    const rows = [await store.jobRow(0, idOf(1)), await store.jobRow(0, idOf(2))];
    expect(rows.map((row) => row !== null)).toEqual([taken.has(idOf(1)), taken.has(idOf(2))]);
    return rows.map((row) => row !== null);
  };
  expect(await seen()).toEqual([false, false]);
  held[1]?.answer();
  await settled();
  expect(await seen()).toEqual([false, false]);
  held[0]?.answer();
  await settled();
  expect(await seen()).toEqual([true, true]);
});

test('a commit that is refused takes along those after it, and the term goes on', async () => {
  refusal = fault('bad_row');
  const first = await commit(1, newJob(1));
  const second = await commit(2, newJob(2));
  held[1]?.answer();
  await settled();
  expect(second.outcome).toBe('waits');
  held[0]?.answer();
  await settled();
  expect([first.outcome, second.outcome]).toEqual(['bad_row', 'store_unavailable']);
  const again = await commit(1, newJob(1));
  held[2]?.answer();
  await settled();
  expect(again.outcome).toBe('made');
  expect(await store.jobRow(0, idOf(1))).not.toBeNull();
  expect(await store.jobRow(0, idOf(2))).toBeNull();
});

test('whether a commit was made is not known when that of the one before is not', async () => {
  const first = await commit(1, newJob(1));
  const second = await commit(2, newJob(2));
  held[0]?.fail(fault('outcome_unknown'));
  held[1]?.answer();
  await settled();
  expect([first.outcome, second.outcome]).toEqual(['outcome_unknown', 'outcome_unknown']);
  expect(await store.jobRow(0, idOf(2))).toBeNull();
});

test('rows are removed only when no commit is under way, and none begins meanwhile', async () => {
  await commit(1, newJob(1));
  let isRemoved = false;
  const began = deferred();
  const go = deferred();
  const prune = tables.prune.bind(tables);
  Object.assign(tables, {
    prune: (...[of, what, alone]: Parameters<MemoryStore['prune']>) =>
      alone?.(async () => {
        began.resolve();
        await go.promise;
        return prune(of, what);
      }),
  });
  void store.prune(term, { only: jobNo(1) }).then(() => (isRemoved = true));
  void began.promise.then(() => expect(held).toHaveLength(1));
  await settled();
  const second = await commit(2, newJob(2));
  expect([isRemoved, held.length]).toEqual([false, 1]);
  held[0]?.answer();
  await began.promise;
  await settled();
  expect(held).toHaveLength(1);
  go.resolve();
  await settled();
  expect([isRemoved, held.length]).toEqual([true, 2]);
  held[1]?.answer();
  await settled();
  expect(second.outcome).toBe('made');
});

test('tables that take one commit at a time get the next when that is answered', async () => {
  await lead(undefined);
  await commit(1, newJob(1));
  const second = await commit(2, newJob(2));
  expect(held).toHaveLength(1);
  held[0]?.answer();
  await settled();
  expect(held).toHaveLength(2);
  held[1]?.answer();
  await settled();
  expect(second.outcome).toBe('made');
});
