/** A campaign and the terms that were won, which is all of leadership that the file has to remember. */
import type { Instant, JobNo, TermId } from '../../core/index.ts';
import type { Campaign, Candidacy, Counters } from '../store.ts';
import { type Session } from './session.ts';
import { leaderTermOf, type Shard, type Shards } from './shards.ts';
import { inTransaction } from './transaction.ts';

export async function campaign(
  session: Session,
  shards: Shards,
  candidacy: Candidacy,
  { head, now }: { readonly head: Counters; readonly now: Instant },
): Promise<Campaign> {
  const shard = shards.get(candidacy.shard);
  if (shard.leader !== null && shard.leader.expiresAt > now) {
    return { won: false, leader: shard.leader, now };
  }
  const epoch = Math.max(shard.epoch, candidacy.above ?? 0) + 1;
  const { leader } = shard;
  const previous =
    leader === null ? null : { nodeId: leader.nodeId, epoch: leader.epoch, isGone: false };
  await inTransaction(session, async () => {
    await session.run('delete from shard where shard = $1::integer', shard.no);
    await session.run(
      `insert into shard (shard, epoch, term, last_seq, next_job_no, first_seq, commit_no, settled_no)
         values ($1::integer, $2::bigint, $3, $4::bigint, $5::bigint, $6::bigint, $7::bigint, $8::bigint)`,
      shard.no,
      epoch,
      candidacy.term,
      shard.lastSeq,
      shard.nextJobNo,
      shard.firstSeq,
      shard.commitNo,
      shard.settledNo,
    );
    await recordTerm(session, { no: shard.no, ...head }, epoch, candidacy.term);
  });
  // What a term is extended to meanwhile is lost with it: it was over.
  const won = { epoch, term: candidacy.term, leader: leaderTermOf(candidacy, epoch, now) };
  shards.set({ ...shards.get(shard.no), ...won });
  return { won: true, term: { shard: shard.no, epoch, id: candidacy.term }, now, previous };
}

/** How many terms are remembered; a caller that names an older one must start anew. */
const TERMS_MAX = 1_000;

async function recordTerm(
  session: Session,
  { no, commitNo, lastSeq, nextJobNo }: Counters & Pick<Shard, 'no'>,
  epoch: number,
  term: TermId,
): Promise<void> {
  await session.run(
    'insert into term values ($1::integer, $2::bigint, $3, $4::bigint, $5::bigint, $6::bigint)',
    no,
    epoch,
    term,
    commitNo,
    lastSeq,
    nextJobNo,
  );
  await session.run(
    `delete from term where shard = $1::integer and epoch not in (
       select epoch from term where shard = $1::integer order by epoch desc limit ${TERMS_MAX})`,
    no,
  );
}

/** Where the term after this one has begun; `end` when there is none. */
export async function termEnd(
  session: Session,
  shard: number,
  term: TermId,
  end: Counters,
): Promise<Counters | null> {
  const found = await session.rows(
    `select n.commit_no, n.last_seq, n.next_job_no
       from term t left join term n on n.shard = t.shard and n.epoch > t.epoch
      where t.shard = $1::integer and t.term = $2
      order by n.epoch limit 1`,
    shard,
    term,
  );
  const [row] = found;
  if (row === undefined) return null;
  const [commitNo, lastSeq, nextJobNo] = row as [number, number, JobNo] | [null, null, null];
  return commitNo === null ? end : { commitNo, lastSeq, nextJobNo };
}
