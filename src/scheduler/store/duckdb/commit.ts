/** The group commit: fence, checks, rows, and then what the process knows by heart. */
import type { Batch, Instant } from '../../core/index.ts';
import { rewound } from '../refusals.ts';
import { checkBatch } from '../row-checks.ts';
import type { Term } from '../store.ts';
import { applyBatch } from './apply.ts';
import { nameHash } from './hash-index.ts';
import type { KeyChanges } from './keys.ts';
import { type Session } from './session.ts';
import type { Shard, Shards } from './shards.ts';
import { inTransaction } from './transaction.ts';

export interface Commit {
  readonly term: Term;
  readonly ttlMs: number;
  readonly batch: Batch;
  readonly now: Instant;
}

/**
 * The fence is checked in memory: commits come one after another, and no other process can write
 * to the file. A campaign waits for the commit that is under way like another commit.
 */
export async function commitBatch(
  session: Session,
  shards: Shards,
  { term, ttlMs, batch, now }: Commit,
): Promise<Instant> {
  const shard = shards.led(term);
  const last = batch.commitNo - 1;
  if (shard.commitNo !== last) throw rewound(term, last, shard.commitNo);
  checkBatch(batch, shard);
  const keys = await inTransaction(session, async () => {
    const changes = await applyBatch(session, shards, shard.no, batch);
    await keepFloor(session, shard, batch);
    return changes;
  });
  learn(shards, batch, keys);
  const { commitNo, lastSeq, nextJobNo } = batch;
  shards.set({ ...shards.get(shard.no), commitNo, lastSeq, nextJobNo });
  return shards.extend(shards.get(shard.no), ttlMs, now);
}

/** The stored rows tell how far the counters are, unless a number was given out for nothing. */
async function keepFloor(session: Session, shard: Shard, batch: Batch): Promise<void> {
  const next = batch.jobInserts.reduce((most, job) => Math.max(most, job.no + 1), 0);
  if (Math.max(shard.nextJobNo, next) === batch.nextJobNo) return;
  await session.run(
    'update shard set next_job_no = $2::bigint where shard = $1::integer',
    shard.no,
    batch.nextJobNo,
  );
}

function learn(shards: Shards, { jobInserts }: Batch, keys: KeyChanges): void {
  for (const { no, id, idempotencyKey } of jobInserts) {
    shards.jobs.add(nameHash(id), no);
    if (idempotencyKey !== null) shards.jobKeys.add(nameHash(idempotencyKey), no);
  }
  for (const [hash, no] of keys.removed) shards.keys.remove(hash, no);
  for (const { scope, no } of keys.added) shards.keys.add(nameHash(scope), no);
  shards.nextKeyNo += keys.added.length;
}
