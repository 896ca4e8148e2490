/** Commits of the journal into the tables, in one transaction. */
import type { Batch } from '../../core/index.ts';
import type { Fold } from '../journal/port.ts';
import { applyFold } from './apply.ts';
import { nameHash } from './hash-index.ts';
import type { KeyChanges } from './keys.ts';
import { type Session } from './session.ts';
import type { Shard, Shards } from './shards.ts';
import { inTransaction } from './transaction.ts';

/** The transaction that moves the rows also says how far the tables are: after a crash nothing is folded twice. False, and nothing is
 * changed, if they are not where the fold begins. */
export async function foldCommits(
  session: Session,
  shards: Shards,
  shardNo: number,
  fold: Fold,
): Promise<boolean> {
  const shard = shards.get(shardNo);
  const { batch, settledNo } = fold;
  if (shard.commitNo !== fold.after || shard.settledNo !== fold.settledBefore) return false;
  const keys = await inTransaction(session, async () => {
    const changes = await applyFold(session, shards, shard.no, fold);
    await keepCounters(session, shard, fold);
    return changes;
  });
  learn(shards, batch, keys);
  const { commitNo, lastSeq, nextJobNo } = batch;
  shards.set({ ...shards.get(shard.no), commitNo, settledNo, lastSeq, nextJobNo });
  return true;
}

async function keepCounters(
  session: Session,
  shard: Shard,
  { batch, settledNo }: Fold,
): Promise<void> {
  await session.run(
    `update shard set commit_no = $2::bigint, last_seq = $3::bigint, next_job_no = $4::bigint,
       settled_no = $5::bigint
      where shard = $1::integer`,
    shard.no,
    batch.commitNo,
    batch.lastSeq,
    batch.nextJobNo,
    settledNo,
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
