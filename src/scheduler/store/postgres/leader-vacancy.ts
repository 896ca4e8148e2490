/**
 * Seeing that a leader has gone before its time is up: it gave the shard back, or its process died.
 * Migration 0007 says what counts as a proof of that. It is looked at again after a grace, because a
 * connection alone may be lost: the leader then makes another and says so, within that time (leader-connection.ts).
 */
import { sleepOrAbort, systemClock } from '../../../kit/index.ts';
import type { Run } from './connection.ts';

/** A look costs the server some 0.1 ms, as long as the leader holds its lock. */
const LOOK_MS = 200;
export const GRACE_MS = 500;

const LOOK = `
  select l.epoch, l.released from millrace.leader l
   where l.shard = $1
     and (l.released or millrace.is_deserted(l.shard, l.backend_pid, l.backend_start))`;

export async function whenVacant(
  read: Run,
  shard: number,
  signal: AbortSignal,
): Promise<number | null> {
  let suspect: number | null = null;
  while (!signal.aborted) {
    const gone = await look(read, shard);
    if (gone !== null && (gone.released || gone.epoch === suspect)) return gone.epoch;
    suspect = gone?.epoch ?? null;
    await sleepOrAbort(systemClock, gone === null ? LOOK_MS : GRACE_MS, signal);
  }
  return null;
}

interface Gone {
  readonly epoch: number;
  readonly released: boolean;
}

async function look(read: Run, shard: number): Promise<Gone | null> {
  try {
    const [row] = await read(LOOK, [shard]);
    if (row === undefined) return null;
    return { epoch: row['epoch'] as number, released: row['released'] === true };
  } catch {
    // The database is away. The caller campaigns as well and gets the error there.
    return null;
  }
}
