/** How far the tables are behind the journal. */
import { expect, test } from 'vitest';
import { aJob } from '../../../../test/rig/conformance/rows.ts';
import { VirtualClock } from '../../../kit/index.ts';
import { batchOf, instant, jobNo, type TermId } from '../../core/index.ts';
import { openMemoryStore } from '../memory/memory.ts';
import { journaled } from './journaled-store.ts';

test('the leader knows how many of its commits the tables lack, and a reader brings them there', async () => {
  const tables = openMemoryStore({ now: () => instant(0) });
  const store = journaled(tables, { clock: new VirtualClock(), foldAfterMs: 100 });
  expect(await store.unfolded?.(0)).toBeNull();
  const campaign = await store.campaign({
    ...{ shard: 0, nodeId: 'n', url: null, grpc: null },
    term: 'term' as TermId,
    ttlMs: 60_000,
  });
  if (!campaign.won) throw new Error('nobody else is there');
  expect(await store.unfolded?.(0)).toBe(0);
  for (const commitNo of [1, 2, 3]) {
    const counters = { commitNo, lastSeq: 0, nextJobNo: jobNo(commitNo + 1) };
    await store.commit(
      campaign.term,
      60_000,
      batchOf({ ...counters, jobInserts: [aJob(commitNo)] }),
    );
  }
  expect(await store.unfolded?.(0)).toBe(3);
  expect(await store.jobs(0, { limit: 9 })).toHaveLength(3);
  expect(await store.unfolded?.(0)).toBe(0);
});
