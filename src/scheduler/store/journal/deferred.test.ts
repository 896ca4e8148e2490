/** While commits go on, folds leave out jobs that have just begun, so that most are written once. */
import { expect, onTestFinished, test, vi } from 'vitest';
import { aJob, aSpec, aTask, succeeded } from '../../../../test/rig/conformance/rows.ts';
import { VirtualClock } from '../../../kit/index.ts';
import { type Batch, batchOf, instant, jobNo, taskNo, type TermId } from '../../core/index.ts';
import { openMemoryStore } from '../memory/memory.ts';
import type { Store, Term } from '../store.ts';
import { journaled } from './journaled-store.ts';

const TTL_MS = 600_000;

/** A commit every 40 ms: never quiet, and a fold each second. */
const STEP_MS = 40;

async function open() {
  const clock = new VirtualClock();
  const tables = openMemoryStore({ now: () => instant(clock.monotonicMs()) });
  const folds = vi.spyOn(tables, 'fold');
  onTestFinished(() => folds.mockRestore());
  const timing = { clock, foldAfterMs: 1_000, foldWhenQuietMs: 50, defersJobs: true };
  const another = (): Store => journaled(tables, timing);
  const store = another();
  const term = await led(store, 'term');
  let commitNo = 0;
  let jobs = 0;
  const commit = async (rows: Partial<Batch> = {}): Promise<void> => {
    commitNo += 1;
    jobs += rows.jobInserts?.length ?? 0;
    const counters = { commitNo, lastSeq: 0, nextJobNo: jobNo(jobs + 1) };
    await store.commit(term, TTL_MS, batchOf({ ...counters, ...rows }));
  };
  const busyFor = async (ms: number): Promise<void> => {
    for (let spent = 0; spent < ms; spent += STEP_MS) {
      await commit();
      await clock.advance(STEP_MS);
    }
  };
  /** What folds have written of jobs so far. */
  const written = () => {
    const batches = folds.mock.calls.map(([, { batch }]) => batch);
    const numbers = (rows: readonly { readonly no: number }[]) => rows.map(({ no }) => no);
    return {
      inserted: batches.flatMap(({ jobInserts }) => numbers(jobInserts)),
      updated: batches.flatMap(({ jobUpdates }) => numbers(jobUpdates)),
    };
  };
  const stored = async (): Promise<readonly number[]> => {
    const jobsOf = await tables.jobs(0, { limit: 99 });
    return jobsOf.map(({ no }) => no).toSorted((a, b) => a - b);
  };
  return { clock, tables, store, another, term, commit, busyFor, written, stored, folds };
}

async function led(store: Store, name: string): Promise<Term> {
  const own = { nodeId: 'n', url: null, grpc: null, term: name as TermId, ttlMs: TTL_MS };
  const campaign = await store.campaign({ shard: 0, ...own });
  if (!campaign.won) throw new Error('nobody else is there');
  return campaign.term;
}

const begun = (no: number, changes: Partial<ReturnType<typeof aJob>> = {}) => ({
  jobInserts: [aJob(no, changes)],
  specInserts: [aSpec(no, 0)],
  taskInserts: [aTask(no, 0)],
});

const ended = (no: number) => ({
  jobUpdates: [{ ...aJob(no), state: 'succeeded' as const, finishedAt: instant(9) }],
  taskUpdates: [succeeded(no, 0)],
  results: [{ jobNo: jobNo(no), taskNo: taskNo(0), run: 1, body: '7' }],
});

test('a job that ends soon is written once, in its last form', async () => {
  const { store, commit, busyFor, written, stored } = await open();
  await commit(begun(1));
  await busyFor(1_200);
  expect(await stored()).toEqual([]);
  expect(await store.unfolded?.(0)).toBeGreaterThan(1_200 / STEP_MS - 2);
  await commit(ended(1));
  await busyFor(1_200);
  expect(await stored()).toEqual([1]);
  expect(written()).toEqual({ inserted: [1], updated: [] });
  const view = await store.job(0, aJob(1).id);
  expect(view?.tasks).toMatchObject([{ task: { state: 'succeeded' }, result: '7' }]);
});

test('a job that goes on is in the tables after some seconds, and what comes later is an update', async () => {
  const { commit, busyFor, written, stored } = await open();
  await commit(begun(1));
  await busyFor(4_200);
  expect(await stored()).toEqual([1]);
  await commit(ended(1));
  await busyFor(1_200);
  expect(written()).toEqual({ inserted: [1], updated: [1] });
});

test('when it is quiet, and when somebody lists jobs, all of them are in the tables', async () => {
  const { store, clock, commit, busyFor, stored } = await open();
  await commit(begun(1));
  await busyFor(1_200);
  expect(await stored()).toEqual([]);
  await clock.advance(300);
  expect(await stored()).toEqual([1]);
  expect(await store.unfolded?.(0)).toBe(0);
  await commit(begun(2));
  await busyFor(1_200);
  expect(await stored()).toEqual([1]);
  expect((await store.jobs(0, { limit: 9 })).map(({ no }) => no)).toEqual([2, 1]);
  expect(await stored()).toEqual([1, 2]);
});

test('a job of several tasks, or with more than its rows, is not left out', async () => {
  const { commit, busyFor, stored } = await open();
  await commit({
    jobInserts: [aJob(1, { taskCount: 2 }), aJob(2), aJob(3)],
    specInserts: [aSpec(1, 0), aSpec(1, 1), aSpec(2, 0), aSpec(3, 0)],
    taskInserts: [aTask(1, 0), aTask(1, 1), aTask(2, 0), aTask(3, 0)],
    steps: [{ jobNo: jobNo(2), taskNo: taskNo(0), run: 1, name: 'a', body: '1' }],
  });
  await busyFor(1_200);
  expect(await stored()).toEqual([1, 2]);
});

test('a name is taken, also by a job that was left out', async () => {
  const { commit, busyFor, stored } = await open();
  await commit(begun(1, { idempotencyKey: 'once' }));
  await busyFor(1_200);
  expect(await stored()).toEqual([]);
  const same = { ...begun(2), jobInserts: [aJob(2, { idempotencyKey: 'once' })] };
  await expect(commit(same)).rejects.toMatchObject({ code: 'bad_row' });
});

test('the next leader goes on from a journal that has jobs which the tables lack', async () => {
  const { store, another, term, commit, busyFor, stored } = await open();
  await commit(begun(1));
  await commit(begun(2));
  await busyFor(1_200);
  await commit(ended(1));
  await busyFor(1_200);
  expect(await stored()).toEqual([1]);
  const next = another();
  expect((await next.job(0, aJob(2).id))?.job).toEqual(aJob(2));
  await next.jobs(0, { limit: 9 });
  expect(await stored()).toEqual([1, 2]);
  // The one that leads has not folded them itself, and must not write them again.
  await commit(ended(2));
  await busyFor(1_200);
  await store.resign(term);
  expect(await stored()).toEqual([1, 2]);
  await led(next, 'next');
  expect((await next.job(0, aJob(2).id))?.job.state).toBe('succeeded');
});

test('a fold by one who does not know that the jobs are in the tables changes nothing', async () => {
  const { tables, commit, busyFor, folds } = await open();
  await commit(begun(1));
  await busyFor(1_200);
  const [, fold] = folds.mock.calls.at(-1) ?? [];
  if (fold === undefined) throw new Error('there was one');
  expect(fold.settledNo).toBeLessThan(fold.batch.commitNo);
  const rest = { ...fold, after: fold.batch.commitNo, batch: { ...fold.batch, ...begun(1) } };
  const late = { ...rest, settledBefore: fold.batch.commitNo, settledNo: fold.batch.commitNo };
  expect(await tables.fold(0, late)).toBe(false);
  expect(await tables.fold(0, { ...late, settledBefore: fold.settledNo })).toBe(true);
  expect(await tables.fold(0, { ...late, settledBefore: fold.settledNo })).toBe(false);
});
