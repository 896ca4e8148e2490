/**
 * Retention. What is old is looked for on the reading side, where nobody waits for it; the leader's
 * line then removes it by key, under the fence. Migration 0004 has the functions.
 */
import type { Pruned, Retention, Term } from '../store.ts';
import type { Run } from './connection.ts';
import { writeFailure } from './failure.ts';
import { type Line, patienceFor } from './line.ts';
import * as rows from './rows.ts';

/** Tasks and keys that one call removes at most, a whole job at least: commits wait meanwhile. */
const TASKS_MAX = 20_000;
const KEYS_MAX = 1_000;

/**
 * A job goes in one piece, so it gets the time for it, as its commit did: for each task, its spec, its
 * result and, as a guess, a run before the last one.
 */
const ROWS_PER_TASK = 4;

interface Old<T> {
  readonly items: readonly T[];
  readonly more: boolean;
}

export async function prune(
  read: Run,
  write: Line['run'],
  term: Term,
  retention: Retention,
): Promise<Pruned> {
  const { shard, epoch, id } = term;
  const [jobs, keys, firstSeq] = await Promise.all([
    oldJobs(read, shard, retention),
    oldKeys(read, shard, retention),
    firstEvent(read, shard, retention),
  ]);
  const [row] = await write(
    `select jobs, keys, events
       from millrace.prune($1, $2, $3, $4, now() - $5 * interval '1 millisecond', $6, $7)`,
    [
      shard,
      epoch,
      id,
      ...rows.numbers.encode(jobs.items),
      retention.jobsMs,
      ...rows.scopes.encode(keys.items),
      firstSeq,
    ],
    patienceFor(jobs.rows),
  ).catch((cause: unknown) => {
    throw writeFailure(cause, term);
  });
  return {
    jobs: row?.['jobs'] as number,
    events: row?.['events'] as number,
    keys: row?.['keys'] as number,
    more: jobs.more || keys.more,
  };
}

interface OldJobs extends Old<number> {
  readonly rows: number;
}

async function oldJobs(read: Run, shard: number, retention: Retention): Promise<OldJobs> {
  const { jobsMs, jobsMax } = retention;
  const found = await read(
    `select no, task_count from millrace.old_jobs($1, now() - $2 * interval '1 millisecond', $3)`,
    [shard, jobsMs, jobsMax + 1],
  );
  const items: number[] = [];
  let tasks = 0;
  for (const row of found.slice(0, jobsMax)) {
    const count = row['task_count'] as number;
    if (items.length > 0 && tasks + count > TASKS_MAX) break;
    tasks += count;
    items.push(row['no'] as number);
  }
  return { items, more: items.length < found.length, rows: tasks * ROWS_PER_TASK };
}

async function oldKeys(read: Run, shard: number, { keysMs }: Retention): Promise<Old<string>> {
  const found = await read(
    `select k.scope from millrace.idempotency k
      where k.shard = $1 and k.state = 'completed'
        and k.updated_at < now() - $2 * interval '1 millisecond'
        and not millrace.is_named(k.shard, k.scope) limit $3`,
    [shard, keysMs, KEYS_MAX + 1],
  );
  const items = found.slice(0, KEYS_MAX).map((row) => row['scope'] as string);
  return { items, more: items.length < found.length };
}

async function firstEvent(
  read: Run,
  shard: number,
  { eventsMs }: Retention,
): Promise<number | null> {
  const [row] = await read(
    `select millrace.first_event_since($1, now() - $2 * interval '1 millisecond') as seq`,
    [shard, eventsMs],
  );
  return row?.['seq'] as number | null;
}
