/** The time limit of a statement on the leader's connection that writes more than usual. A job of a hundred thousand
 * tasks is one transaction, and a limit that it can never meet would refuse it for ever. */
import type { Term } from '../store.ts';
import type { Run } from './connection.ts';

/** Rows that even a slow machine writes within the usual limit of the connection. */
const USUAL_ROWS = 20_000;

/** Bytes that it sends, compresses and writes within that limit. */
const USUAL_BYTES = 4 * 1024 * 1024;

/** How many times the usual limit. */
export function timeoutMultiplierFor(rowCount: number, bytes = 0): number {
  return Math.max(1, Math.ceil(rowCount / USUAL_ROWS), Math.ceil(bytes / USUAL_BYTES));
}

/** No answer after this long: the network is gone. The server gives up before, see `session` in leader-connection.ts. */
export function limitMs(ttlMs: number, timeoutMultiplier: number): number {
  return (ttlMs / 2) * timeoutMultiplier;
}

/** How long the leader's row has to hold, so that the TTL is left when a long statement ends. */
export function leaseMs(ttlMs: number, timeoutMultiplier: number): number {
  return timeoutMultiplier === 1 ? ttlMs : Math.ceil(ttlMs + limitMs(ttlMs, timeoutMultiplier));
}

const HOLD = `update millrace.leader
    set expires_at = greatest(expires_at, now() + $4 * interval '1 millisecond')
  where shard = $1 and epoch = $2 and term = $3 and not released`;

/**
 * Makes the leader's row hold over a long statement. What that statement itself writes there is seen by
 * nobody before it ends, and a candidate that finds the row expired ends the leader's connection. If
 * the term is over nothing is changed, and the statement's own fence refuses it.
 *
 * Until the next commit or renewal the row holds that long. A leader that steps down gives it back, one that
 * dies is replaced by the proof that it is gone (migration 0007), as soon as the server is done with its
 * statement. Where there is no such proof, behind a pooler or when a whole process is stopped, the
 * others wait for the longer time: that is the price.
 */
export async function holdFor(run: Run, term: Term, forMs: number): Promise<void> {
  await run(HOLD, [term.shard, term.epoch, term.id, forMs]);
}
