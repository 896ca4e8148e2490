import { isMillraceError, type Instant, type JobNo, type TermId } from '../../core/index.ts';
import type { Campaign, Candidacy, Counters, LeaderInfo, Predecessor, Term } from '../store.ts';
import type { Values } from './codec.ts';
import type { Run } from './connection.ts';
import { writeFailure } from './failure.ts';
import type { LeaderConnection } from './leader-connection.ts';
import { release } from './held-terms.ts';

const LEADER = 'node_id, url, grpc, epoch, term, expires_at';

const CAMPAIGN = `
  select c.won, (c.leader).*, now() as at, (c.previous).node_id as previous_node,
         (c.previous).epoch as previous_epoch, c.previous_gone
    from millrace.campaign($1, $2, $3, $4, $5, $6, $7::integer = 1, $8, $9) c`;

export async function campaign(
  connection: LeaderConnection,
  candidacy: Candidacy,
): Promise<Campaign> {
  const { shard, term: id, nodeId, url, grpc, ttlMs, vacated = null, above = 0 } = candidacy;
  const direct = connection.isDirect ? 1 : 0;
  const parameters = [shard, id, nodeId, url, grpc, ttlMs, direct, vacated, above];
  const [row = {}] = await connection.run(CAMPAIGN, parameters).catch((cause: unknown) => {
    throw writeFailure(cause);
  });
  const leader = infoOf(row);
  const now = row['at'] as Instant;
  if (row['won'] !== true) return { won: false, leader, now };
  const term = { shard, epoch: leader.epoch, id };
  await connection.standFor(term);
  return { won: true, term, now, previous: previousOf(row) };
}

function previousOf(row: Values): Predecessor | null {
  if (row['previous_node'] === null) return null;
  return {
    nodeId: row['previous_node'] as string,
    epoch: row['previous_epoch'] as number,
    isGone: row['previous_gone'] === true,
  };
}

export async function renew(
  run: Run,
  term: Term,
  ttlMs: number,
  commitNo: number,
): Promise<Instant> {
  const { shard, epoch, id } = term;
  const [row] = await run('select millrace.renew($1, $2, $3, $4, $5) as at', [
    shard,
    epoch,
    id,
    ttlMs,
    commitNo,
  ]).catch((cause: unknown) => {
    throw writeFailure(cause, term, commitNo);
  });
  return row?.['at'] as Instant;
}

/** The counters of the next term's beginning, or those of the leader's row when there is no next one. */
const TERM_END = `
  select coalesce(n.commit_no, l.commit_no) as commit_no, coalesce(n.last_seq, l.last_seq) as last_seq,
         coalesce(n.next_job_no, l.next_job_no) as next_job_no
    from millrace.term t
    join millrace.leader l on l.shard = t.shard
    left join millrace.term n on n.shard = t.shard and n.epoch > t.epoch
   where t.shard = $1 and t.term = $2
   order by n.epoch limit 1`;

export async function termEnd(run: Run, shard: number, term: TermId): Promise<Counters | null> {
  const [row] = await run(TERM_END, [shard, term]);
  if (row === undefined) return null;
  return {
    commitNo: row['commit_no'] as number,
    lastSeq: row['last_seq'] as number,
    nextJobNo: row['next_job_no'] as JobNo,
  };
}

export async function resign(connection: LeaderConnection, term: Term): Promise<void> {
  connection.leave(term);
  const run: Run = (statement, parameters) => connection.run(statement, parameters);
  await release(run, term).catch((cause: unknown) => {
    throw writeFailure(cause, term);
  });
  connection.standNoMoreFor(term);
}

/** A term that another leader has taken needs no lock. */
export async function whileLeading<T>(
  connection: LeaderConnection,
  term: Term,
  act: () => Promise<T>,
): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (isMillraceError(error, 'deposed')) connection.standNoMoreFor(term);
    throw error;
  }
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
