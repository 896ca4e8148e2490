import type { Instant, TermId } from '../../core/index.ts';
import { deposed } from '../refusals.ts';
import type { Campaign, Candidacy, LeaderInfo, Term } from '../store.ts';
import type { Values } from './codec.ts';
import type { Run } from './connection.ts';
import { writeFailure } from './failure.ts';

const LEADER = 'node_id, url, grpc, epoch, term, expires_at';

export async function campaign(run: Run, candidacy: Candidacy): Promise<Campaign> {
  const { shard, term, nodeId, url, grpc, ttlMs } = candidacy;
  const [row] = await run(
    `select won, (leader).*, now() as at from millrace.campaign($1, $2, $3, $4, $5, $6)`,
    [shard, term, nodeId, url, grpc, ttlMs],
  ).catch((cause: unknown) => {
    throw writeFailure(cause);
  });
  const leader = infoOf(row as Values);
  const now = row?.['at'] as Instant;
  if (row?.['won'] !== true) return { won: false, leader, now };
  return { won: true, term: { shard, epoch: leader.epoch, id: term }, now };
}

export async function renew(run: Run, term: Term, ttlMs: number): Promise<Instant> {
  const [row] = await run('select millrace.renew($1, $2, $3, $4) as at', [
    term.shard,
    term.epoch,
    term.id,
    ttlMs,
  ]).catch((cause: unknown) => {
    throw writeFailure(cause, term);
  });
  const at = row?.['at'] as Instant | null;
  if (at === null) throw deposed(term);
  return at;
}

export async function resign(run: Run, term: Term): Promise<void> {
  await run(
    `update millrace.leader set released = true
      where shard = $1 and epoch = $2 and term = $3 and not released`,
    [term.shard, term.epoch, term.id],
  ).catch((cause: unknown) => {
    throw writeFailure(cause, term);
  });
}

export async function leaderOf(run: Run, shard: number): Promise<LeaderInfo | null> {
  const [row] = await run(
    `select ${LEADER} from millrace.leader where shard = $1 and not released`,
    [shard],
  );
  return row === undefined ? null : infoOf(row);
}

function infoOf(row: Values): LeaderInfo {
  return {
    nodeId: row['node_id'] as string,
    url: row['url'] as string | null,
    grpc: row['grpc'] as string | null,
    epoch: row['epoch'] as number,
    term: row['term'] as TermId,
    expiresAt: row['expires_at'] as Instant,
  };
}
