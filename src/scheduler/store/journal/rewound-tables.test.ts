/** Tables that have gone back behind what the leader has folded, although the journal has every commit. */
import { expect, test } from 'vitest';
import { aJob } from '../../../../test/rig/conformance/rows.ts';
import { VirtualClock } from '../../../kit/index.ts';
import { type Batch, batchOf, instant, jobNo, type TermId } from '../../core/index.ts';
import { openMemoryStore } from '../memory/memory.ts';
import type { Store, Term } from '../store.ts';
import { journaled } from './journaled-store.ts';

const TTL_MS = 60_000;

async function foldedAndRewound(): Promise<{ store: Store; term: Term }> {
  const tables = openMemoryStore({ now: () => instant(0) });
  const store = journaled(tables, { clock: new VirtualClock(), foldAfterMs: 100 });
  const candidacy = { shard: 0, nodeId: 'n', url: null, grpc: null };
  const campaign = await store.campaign({ ...candidacy, term: 'term' as TermId, ttlMs: TTL_MS });
  if (!campaign.won) throw new Error('nobody else is there');
  await store.commit(campaign.term, TTL_MS, submission(1));
  const standby = tables.snapshot();
  // Only the tables can list nodes, so they follow.
  await store.nodes(0);
  standby();
  return { store, term: campaign.term };
}

function submission(commitNo: number): Batch {
  const counters = { commitNo, lastSeq: 0, nextJobNo: jobNo(commitNo + 1) };
  return batchOf({ ...counters, jobInserts: [aJob(commitNo, { idempotencyKey: 'same' })] });
}

test('a commit to tables that lack the last fold ends the term', async () => {
  const { store, term } = await foldedAndRewound();
  // The first job is only in the journal, where the leader no longer looks: its key would be taken twice.
  await expect(store.commit(term, TTL_MS, submission(2))).rejects.toMatchObject({
    code: 'rewound',
  });
  await store.resign(term);
  const next = { shard: 0, nodeId: 'n', url: null, grpc: null, term: 'next' as TermId };
  expect(await store.campaign({ ...next, ttlMs: TTL_MS })).toMatchObject({ won: true });
  expect((await store.jobs(0, { limit: 9 })).map(({ id }) => id)).toEqual(['job-1']);
});

test('a renewal ends the term of a leader that commits nothing', async () => {
  const { store, term } = await foldedAndRewound();
  await expect(store.renew(term, TTL_MS, 1)).rejects.toMatchObject({ code: 'rewound' });
});

test('a leader that loads them ends its term, and goes on from nothing older than it has folded', async () => {
  const { store } = await foldedAndRewound();
  await expect(store.loadCluster(0)).rejects.toMatchObject({ code: 'rewound' });
});
