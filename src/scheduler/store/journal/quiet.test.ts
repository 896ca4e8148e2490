/** The tables follow soon after the last commit, and under load at most some time after the first one. */
import { expect, test } from 'vitest';
import { aJob, aSpec, aTask } from '../../../../test/rig/conformance/rows.ts';
import { VirtualClock } from '../../../kit/index.ts';
import { batchOf, instant, jobNo, type TermId } from '../../core/index.ts';
import { openMemoryStore } from '../memory/memory.ts';
import { journaled } from './journaled-store.ts';

async function open() {
  const tables = openMemoryStore({ now: () => instant(0) });
  const clock = new VirtualClock();
  const store = journaled(tables, { clock, foldAfterMs: 1_000, foldWhenQuietMs: 50 });
  const campaign = await store.campaign({
    ...{ shard: 0, nodeId: 'n', url: null, grpc: null },
    term: 'term' as TermId,
    ttlMs: 60_000,
  });
  if (!campaign.won) throw new Error('nobody else is there');
  const { term } = campaign;
  let commitNo = 0;
  let no = 0;
  return {
    /** The last of them has a task that waits for a worker, if it goes on. */
    commit: async (jobs = 1, { goesOn = false } = {}): Promise<void> => {
      commitNo += 1;
      const jobInserts = Array.from({ length: jobs }, () => aJob((no += 1)));
      const tasks = goesOn ? { specInserts: [aSpec(no, 0)], taskInserts: [aTask(no, 0)] } : {};
      const counters = { commitNo, lastSeq: 0, nextJobNo: jobNo(no + 1) };
      await store.commit(term, 60_000, batchOf({ ...counters, jobInserts, ...tasks }));
    },
    /** How many commits the tables lack after this long. */
    after: async (ms: number): Promise<number | null | undefined> => {
      await clock.advance(ms);
      return store.unfolded?.(0);
    },
  };
}

test('a commit that stays the last one is in the tables soon', async () => {
  const { commit, after } = await open();
  await commit();
  expect(await after(30)).toBe(1);
  await commit();
  expect(await after(49)).toBe(2);
  expect(await after(1)).toBe(0);
});

test('while commits go on the tables follow when the oldest has waited long enough', async () => {
  const { commit, after } = await open();
  for (let ms = 0; ms < 1_000; ms += 40) {
    await commit();
    expect(await after(40)).toBe(ms + 40 < 1_000 ? ms / 40 + 1 : 0);
  }
});

test('some commits a second are not folded one by one', async () => {
  const { commit, after } = await open();
  await commit();
  expect(await after(50)).toBe(0);
  await commit();
  expect(await after(100)).toBe(1);
  await commit();
  expect(await after(100)).toBe(2);
  expect(await after(50)).toBe(0);
});

test('so much that it is worth a fold is not folded right behind the commit, and others do not put it off', async () => {
  const { commit, after } = await open();
  await commit(60_001);
  expect(await after(60)).toBe(1);
  await commit();
  expect(await after(39)).toBe(2);
  expect(await after(1)).toBe(0);
});

test('many rows are folded at once when every task has ended, also right behind another fold', async () => {
  const { commit, after } = await open();
  await commit(2_000);
  expect(await after(9)).toBe(1);
  expect(await after(1)).toBe(0);
  await commit();
  await commit(2_000);
  expect(await after(10)).toBe(0);
});

test('many rows are not folded at once while a task goes on', async () => {
  const { commit, after } = await open();
  await commit(2_000, { goesOn: true });
  expect(await after(49)).toBe(1);
  expect(await after(1)).toBe(0);
});
