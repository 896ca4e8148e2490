/** A campaign, which is the only part of leadership that the file has to remember. */
import type { Instant } from '../../core/index.ts';
import type { Campaign, Candidacy } from '../store.ts';
import { one, type Session } from './session.ts';
import { reignOf, type Shards } from './shards.ts';
import { inTransaction } from './transaction.ts';

export async function campaign(
  session: Session,
  shards: Shards,
  candidacy: Candidacy,
  now: Instant,
): Promise<Campaign> {
  const shard = shards.get(candidacy.shard);
  if (shard.leader !== null && shard.leader.expiresAt > now) {
    return { won: false, leader: shard.leader, now };
  }
  const epoch = shard.epoch + 1;
  const { leader } = shard;
  const previous =
    leader === null ? null : { nodeId: leader.nodeId, epoch: leader.epoch, isGone: false };
  await inTransaction(session, async () => {
    await session.run('delete from shard where shard = $1::integer', one('integer', shard.no));
    await session.run(
      'insert into shard values ($1::integer, $2::bigint, $3, $4::bigint, $5::bigint, $6::bigint)',
      one('integer', shard.no),
      one('bigint', epoch),
      one('varchar', candidacy.term),
      one('bigint', shard.lastSeq),
      one('bigint', shard.nextJobNo),
      one('bigint', shard.firstSeq),
    );
  });
  // What a reign is extended to meanwhile is lost with it: it was over.
  shards.set({ ...shards.get(shard.no), epoch, leader: reignOf(candidacy, epoch, now) });
  return { won: true, term: { shard: shard.no, epoch, id: candidacy.term }, now, previous };
}
