/** What was folded a moment ago is read from memory, where it is asked for. */
import { expect, test, vi } from 'vitest';
import { aJob, aSpec, aTask } from '../../../../test/rig/conformance/rows.ts';
import { VirtualClock } from '../../../kit/index.ts';
import { type Batch, batchOf, instant, jobNo, type TermId } from '../../core/index.ts';
import { openMemoryStore } from '../memory/memory.ts';
import { journaled } from './journaled-store.ts';

const TTL_MS = 600_000;

async function led(readableRows: number) {
  const clock = new VirtualClock();
  const tables = openMemoryStore({ now: () => instant(0) });
  const store = journaled(tables, { clock, foldAfterMs: 100, readableRows });
  const own = { nodeId: 'n', url: null, grpc: null, term: 'term' as TermId, ttlMs: TTL_MS };
  const campaign = await store.campaign({ shard: 0, ...own });
  if (!campaign.won) throw new Error('nobody else is there');
  const { term } = campaign;
  let commitNo = 0;
  let nextJobNo = 1;
  /** A commit, and then a list, for which the tables have to follow. */
  const folded = async (rows: Partial<Batch>): Promise<void> => {
    commitNo += 1;
    nextJobNo += rows.jobInserts?.length ?? 0;
    const counters = { commitNo, lastSeq: 0, nextJobNo: jobNo(nextJobNo) };
    await store.commit(term, TTL_MS, batchOf({ ...counters, ...rows }));
    await store.nodes(0);
    expect(await store.unfolded?.(0)).toBe(0);
  };
  const read = vi.spyOn(tables, 'job');
  /** The state of the job, and how many looks at the tables that has taken. */
  const look = async (no: number) => {
    read.mockClear();
    const view = await store.job(0, aJob(no).id);
    return [view?.job.state, read.mock.calls.length];
  };
  return { store, clock, term, folded, look };
}

const inserted = (no: number) => ({
  jobInserts: [aJob(no)],
  specInserts: [aSpec(no, 0)],
  taskInserts: [aTask(no, 0)],
});
/** Rows and the characters of their record. */
const ONE_JOB = 10;
const ended = { state: 'succeeded', finishedAt: instant(1) } as const;

test('a job that was folded and then ended is read without a look at the tables', async () => {
  const { folded, look } = await led(100);
  await folded(inserted(1));
  await folded({ jobUpdates: [{ ...aJob(1), ...ended }] });
  expect(await look(1)).toEqual(['succeeded', 0]);
});

test('without room for it, the tables are asked', async () => {
  const { folded, look } = await led(ONE_JOB);
  await folded(inserted(1));
  expect(await look(1)).toEqual([aJob(1).state, 0]);
  await folded(inserted(2));
  expect(await look(1)).toEqual([aJob(1).state, 1]);
  expect(await look(2)).toEqual([aJob(2).state, 0]);
  const none = await led(0);
  await none.folded(inserted(1));
  expect(await none.look(1)).toEqual([aJob(1).state, 1]);
});

test('a job whose beginning is forgotten is read from the tables, with its newest state', async () => {
  const { folded, look } = await led(ONE_JOB);
  await folded(inserted(1));
  await folded(inserted(2));
  await folded({ jobUpdates: [{ ...aJob(1), ...ended }] });
  expect(await look(1)).toEqual(['succeeded', 1]);
});

test('it is forgotten after a minute, and when rows are removed', async () => {
  const { folded, look, clock, store, term } = await led(100);
  await folded(inserted(1));
  await clock.advance(60_001);
  expect(await look(1)).toEqual([aJob(1).state, 1]);
  await folded({ ...inserted(2), jobUpdates: [] });
  expect(await look(2)).toEqual([aJob(2).state, 0]);
  await store.prune(term, { jobsMs: 0, eventsMs: 0, keysMs: 0 } as never);
  expect((await look(2))[1]).toBe(1);
});
