/**
 * The same batches for the process that is killed and for the one that checks what is left of it:
 * batch `n` depends on `n` alone. Small and large ones, with rows of every table.
 */
import {
  type Batch,
  batchOf,
  instant,
  type Instant,
  jobNo,
  taskNo,
} from '../../src/scheduler/core/index.ts';
import type { Store, Term } from '../../src/scheduler/store/index.ts';
import {
  aJob,
  aKey,
  anEvent,
  aNode,
  aSpec,
  aTask,
  running,
  succeeded,
  termId,
} from '../rig/conformance/rows.ts';

const TTL_MS = 600_000;
const LARGE = 300;

/** A clock that stands still: what is old is the same in both processes. */
export const now = (): Instant => instant(1_763_000_000_000);

const jobsIn = (n: number): number => (n < 1 ? 0 : n % 3 === 0 ? LARGE : 2);
const eventsIn = (n: number): number => jobsIn(n) + 1;
const sum = (n: number, of: (n: number) => number): number =>
  Array.from({ length: n }, (_, at) => of(at + 1)).reduce((total, count) => total + count, 0);

/** Numbers of the jobs that batch `n` creates. */
function jobsOf(n: number): number[] {
  const first = sum(n - 1, jobsIn) + 1;
  return Array.from({ length: jobsIn(n) }, (_, at) => first + at);
}

function batchAt(n: number, commitNo: number): Batch {
  const created = jobsOf(n);
  const ended = jobsOf(n - 2);
  const before = sum(n - 1, eventsIn);
  const done = { state: 'succeeded', finishedAt: now() } as const;
  const ref = (no: number) => ({ jobNo: jobNo(no), taskNo: taskNo(0) });
  return batchOf({
    commitNo,
    lastSeq: before + eventsIn(n),
    nextJobNo: jobNo(sum(n, jobsIn) + 1),
    jobInserts: created.map((no) => aJob(no, { idempotencyKey: `key-${no}` })),
    jobUpdates: ended.map((no) => aJob(no, { ...done, idempotencyKey: `key-${no}` })),
    specInserts: created.map((no) => aSpec(no, 0, { input: `"${'x'.repeat(200)}"` })),
    taskInserts: created.map((no) => aTask(no, 0)),
    taskUpdates: [
      ...jobsOf(n - 1).map((no) => running(no, 0, { progress: 0.5 })),
      ...ended.map((no) => succeeded(no, 0)),
    ],
    results: ended.map((no) => ({ ...ref(no), run: 1, body: `"${'y'.repeat(2_000)}"` })),
    keyUpserts: [aKey(`shared-${n % 5}`, { state: 'completed', result: `${n}` })],
    keyDeletes: [aKey(`shared-${(n + 2) % 5}`).scope],
    steps: created.slice(0, 3).map((no) => ({ ...ref(no), run: 1, name: 'first', body: `${n}` })),
    nodeUpserts: [aNode(`w-${n % 4}`, { slots: n })],
    nodeDeletes: [aNode(`w-${(n + 1) % 4}`).id],
    events: Array.from({ length: eventsIn(n) }, (_, at) =>
      anEvent(before + at + 1, { at: instant(now() - 1_000 + n), jobNo: jobNo(created[0] ?? 1) }),
    ),
  });
}

export async function lead(store: Store): Promise<Term> {
  const campaign = await store.campaign({
    shard: 0,
    nodeId: 'writer',
    url: null,
    grpc: null,
    term: termId('crash'),
    ttlMs: TTL_MS,
  });
  if (!campaign.won) throw new Error('the shard belongs to somebody else');
  return campaign.term;
}

/** Every tenth thing that happens is a prune, the others are the batches in turn. The store is not read in between, so
 * that commits stay in its journal for a while. */
export async function happenings(store: Store, term: Term): Promise<(n: number) => Promise<void>> {
  let { commitNo } = await store.loadCluster(term.shard);
  const retention = { jobsMs: -1, eventsMs: 990, keysMs: TTL_MS, jobsMax: 10 * LARGE };
  return async (n) => {
    if (n % 10 === 0) {
      await store.prune(term, retention);
      return;
    }
    await store.commit(term, TTL_MS, batchAt(n - Math.floor(n / 10), commitNo + 1));
    commitNo += 1;
  };
}
