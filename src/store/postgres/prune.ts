/**
 * Retention. What is old is looked for on the reading side, where nobody waits for it; the leader's
 * line then removes it by key, under the fence. Migrations 0004, 0006, 0008 and 0009 have the
 * functions.
 */
import { eventsIn } from '../event-chunk.ts';
import type { Pruned, Retention, Term } from '../store.ts';
import type { Run } from './connection.ts';
import { writeFailure } from './failure.ts';
import type { Line } from './line.ts';
import { patienceFor } from './patience.ts';
import * as rows from './rows.ts';

/** What one call removes at most, a whole job at least: commits wait meanwhile. */
const TASKS_MAX = 20_000;
const KEYS_MAX = 1_000;
const COMPLETIONS_MAX = 1_000;
const CHUNKS_MAX = 10_000;

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
  const [jobs, keys, events, completions] = await Promise.all([
    oldJobs(read, shard, retention),
    oldKeys(read, shard, retention),
    oldEvents(read, shard, retention),
    oldCompletions(read, retention),
  ]);
  const [row] = await write(
    `select p.jobs, p.keys, p.events, millrace.forget_completions($8, $9, $10)
       from millrace.prune($1, $2, $3, $4, now() - $5 * interval '1 millisecond', $6, $7) p`,
    [
      shard,
      epoch,
      id,
      ...rows.numbers.encode(jobs.items),
      retention.jobsMs,
      ...rows.scopes.encode(keys.items),
      events.firstSeq,
      ...rows.completions.encode(completions.items),
    ],
    { patience: patienceFor(jobs.rows), term },
  ).catch((cause: unknown) => {
    throw writeFailure(cause, term);
  });
  return {
    jobs: row?.['jobs'] as number,
    events: row?.['events'] as number,
    keys: row?.['keys'] as number,
    more: jobs.more || keys.more || events.more || completions.more,
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

/** Whose jobs have ended. They belong to no shard: whoever leads one removes them. */
async function oldCompletions(read: Run, { jobsMs }: Retention): Promise<Old<rows.CompletionRef>> {
  const found = await read(
    `select job, task, run
       from millrace.old_completions(now() - $1 * interval '1 millisecond', $2)`,
    [jobsMs, COMPLETIONS_MAX + 1],
  );
  const items = found.slice(0, COMPLETIONS_MAX).map((row) => rows.completions.decode(row));
  return { items, more: items.length < found.length };
}

interface OldEvents {
  /** The first event that stays; null when there are none at all. */
  readonly firstSeq: number | null;
  readonly more: boolean;
}

/**
 * From the front, up to the first event that is not old. Plain deletion is cheap: a chunk is one row for
 * hundreds of events, and the space in front is used again after a vacuum.
 */
async function oldEvents(read: Run, shard: number, { eventsMs }: Retention): Promise<OldEvents> {
  const cutoff = `now() - $2 * interval '1 millisecond'`;
  // The index alone shows what is old; one body is read, that of the chunk where it ends.
  const [row] = await read(
    `select ${rows.chunks.read('k')}, old.last_seq as old_seq, old.chunks, ${cutoff} as cutoff
       from (
         select max(c.last_seq) as last_seq, count(*) as chunks,
                min(c.last_seq) filter (where c.at >= ${cutoff}) as kept
           from (select last_seq, at from millrace.event_chunk where shard = $1
                  order by last_seq limit ${CHUNKS_MAX}) c
       ) old
       left join millrace.event_chunk k on k.shard = $1 and k.last_seq = old.kept`,
    [shard, eventsMs],
  );
  if (row === undefined || row['old_seq'] === null) return { firstSeq: null, more: false };
  if (row['last_seq'] === null) {
    return { firstSeq: (row['old_seq'] as number) + 1, more: row['chunks'] === CHUNKS_MAX };
  }
  const from = row['cutoff'] as number;
  const kept = eventsIn(rows.chunks.decode(row)).find((event) => event.at >= from);
  return { firstSeq: kept?.seq ?? null, more: false };
}
