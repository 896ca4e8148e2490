import { isMillraceError, type Instant, type TermId } from '../../core/index.ts';
import { deposed } from '../refusals.ts';
import type { Campaign, Candidacy, LeaderInfo, Predecessor, Term } from '../store.ts';
import type { Values } from './codec.ts';
import type { Run } from './connection.ts';
import { writeFailure } from './failure.ts';
import type { Line } from './line.ts';
import { release } from './standing.ts';

const LEADER = 'node_id, url, grpc, epoch, term, expires_at';

const CAMPAIGN = `
  select c.won, (c.leader).*, now() as at, (c.previous).node_id as previous_node,
         (c.previous).epoch as previous_epoch, c.previous_gone
    from millrace.campaign($1, $2, $3, $4, $5, $6, $7::integer = 1, $8) c`;

export async function campaign(line: Line, candidacy: Candidacy): Promise<Campaign> {
  const { shard, term: id, nodeId, url, grpc, ttlMs, vacated = null } = candidacy;
  const parameters = [shard, id, nodeId, url, grpc, ttlMs, line.isDirect ? 1 : 0, vacated];
  const [row = {}] = await line.run(CAMPAIGN, parameters).catch((cause: unknown) => {
    throw writeFailure(cause);
  });
  const leader = infoOf(row);
  const now = row['at'] as Instant;
  if (row['won'] !== true) return { won: false, leader, now };
  const term = { shard, epoch: leader.epoch, id };
  await line.standFor(term);
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

export async function resign(line: Line, term: Term): Promise<void> {
  line.leave(term);
  const run: Run = (statement, parameters) => line.run(statement, parameters);
  await release(run, term).catch((cause: unknown) => {
    throw writeFailure(cause, term);
  });
  line.standNoMoreFor(term);
}

/** What somebody else leads needs no lock of ours. */
export async function whileLeading<T>(line: Line, term: Term, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (isMillraceError(error, 'deposed')) line.standNoMoreFor(term);
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
