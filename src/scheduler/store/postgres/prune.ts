/**
 * Retention. Old rows are looked for on the reading side, where nothing waits for it; the leader's connection then
 * removes them by key, under the fence, in portions that commits can wait for. What belonged to a removed job is
 * swept on a separate connection, however much it is. Migrations 0004, 0006, 0011 and 0019 have the functions.
 */
import { QUERY_OUTPUT_START } from '../../core/index.ts';
import { systemClock } from '../../../kit/index.ts';
import { eventsIn } from '../event-chunk.ts';
import type { Alone } from '../journal/port.ts';
import type { Pruned, Pruning, Retention, Term } from '../store.ts';
import { connectOnce, type ConnectionSettings, type Run } from './connection.ts';
import { unavailable, writeFailure } from './failure.ts';
import type { LeaderConnection } from './leader-connection.ts';
import * as rows from './rows.ts';

/** What one call removes on the leader's connection, where commits wait meanwhile: rows, and bytes in them. */
const BYTES_MAX = 8 * 1024 * 1024;
const KEYS_MAX = 1_000;
const COMPLETIONS_MAX = 200;
/** A chunk has some tens of kilobytes. */
const CHUNKS_MAX = 500;

/** What one statement sweeps, and for how long one call does. */
const SWEEP = { jobs: 100, rows: 5_000, bytes: 8 * 1024 * 1024 };
const SWEEP_MS = 5_000;

interface Old<T> {
  readonly items: readonly T[];
  readonly more: boolean;
}

export interface PruneWays {
  readonly read: Run;
  /** The leader's connection. */
  readonly write: LeaderConnection['run'];
  readonly settings: ConnectionSettings;
  /** The tables are up to date then: a job that was started anew a moment ago is not taken for an old one. */
  readonly alone: Alone;
}

/** The same function: it removes no job that has not ended. */
const REMOVE = `select p.jobs from millrace.prune($1, $2, $3, $4, 'infinity', null, null) p`;

async function removeJob(ways: PruneWays, term: Term, only: number): Promise<Pruned> {
  const { read, write, settings, alone } = ways;
  const parameters = [term.shard, term.epoch, term.id, ...rows.numbers.encode([only])];
  const [row] = await alone(() => write(REMOVE, parameters, { timeoutMultiplier: 1, term })).catch(
    (cause: unknown) => {
      throw writeFailure(cause, term);
    },
  );
  const isSwept = await sweep(read, settings, term.shard);
  return { jobs: row?.['jobs'] as number, events: 0, keys: 0, more: !isSwept };
}

const PRUNE = `select p.jobs, p.keys, p.events, millrace.forget_completions($8, $9, $10)
  from millrace.prune($1, $2, $3, $4, now() - $5 * interval '1 millisecond', $6, $7) p`;

export async function prune(ways: PruneWays, term: Term, retention: Pruning): Promise<Pruned> {
  if ('only' in retention) return removeJob(ways, term, retention.only);
  const { read, write, settings, alone } = ways;
  const { shard, epoch, id } = term;
  const { jobsMs, queriesMs = jobsMs, unkeptMs = jobsMs } = retention;
  // What is looked for is in the tables.
  await alone(async () => {});
  const [jobs, keys, events, completions] = await Promise.all([
    oldJobs(read, shard, retention),
    oldKeys(read, shard, retention),
    oldEvents(read, shard, retention),
    oldCompletions(read, retention),
  ]);
  const parameters = [
    shard,
    epoch,
    id,
    ...rows.numbers.encode(jobs.items),
    Math.min(jobsMs, queriesMs, unkeptMs),
    ...rows.scopes.encode(keys.items),
    events.firstSeq,
    ...rows.completions.encode(completions.items),
  ];
  const [row] = await alone(() => write(PRUNE, parameters, { timeoutMultiplier: 1, term })).catch(
    (cause: unknown) => {
      throw writeFailure(cause, term);
    },
  );
  const isSwept = await sweep(read, settings, shard);
  return {
    jobs: row?.['jobs'] as number,
    events: row?.['events'] as number,
    keys: row?.['keys'] as number,
    more: jobs.more || keys.more || events.more || completions.more || !isSwept,
  };
}

/** False when there was too much for one call. */
async function sweep(read: Run, settings: ConnectionSettings, shard: number): Promise<boolean> {
  const noted = 'select exists (select from millrace.pruned_job where shard = $1) as noted';
  const [row] = await read(noted, [shard]);
  if (row?.['noted'] !== true) return true;
  const connection = connectOnce(settings, {});
  const untilMs = systemClock.monotonicMs() + SWEEP_MS;
  try {
    while (systemClock.monotonicMs() < untilMs) {
      const [swept] = await connection.run('select millrace.sweep($1, $2, $3, $4) as more', [
        shard,
        SWEEP.jobs,
        SWEEP.rows,
        SWEEP.bytes,
      ]);
      if (swept?.['more'] !== true) return true;
    }
    return false;
  } catch (cause) {
    throw unavailable(cause);
  } finally {
    await connection.end();
  }
}

/** As many of them as are not too large together, and one at least. */
function portion<T>(all: readonly T[], max: number, bytesOf: (item: T) => number): Old<T> {
  const items: T[] = [];
  let bytes = 0;
  for (const item of all.slice(0, max)) {
    bytes += bytesOf(item);
    if (items.length > 0 && bytes > BYTES_MAX) break;
    items.push(item);
  }
  return { items, more: items.length < all.length };
}

async function oldJobs(read: Run, shard: number, retention: Retention): Promise<Old<number>> {
  const { jobsMs, queriesMs = jobsMs, unkeptMs = jobsMs, jobsMax } = retention;
  const found = [
    ...(await read(
      `select no, bytes from millrace.old_jobs($1, now() - $2 * interval '1 millisecond', $3)`,
      [shard, jobsMs, jobsMax + 1],
    )),
    ...(queriesMs < jobsMs ? await oldQueries(read, shard, retention) : []),
    ...(unkeptMs < jobsMs ? await unkeptJobs(read, shard, retention) : []),
  ];
  const { items, more } = portion(found, jobsMax, (row) => row['bytes'] as number);
  return { items: items.map((row) => row['no'] as number), more };
}

/**
 * Finished queries that are older than they may be, but not as old as other jobs may be. There is no index for it: it
 * would cost every job that ends a write, for a setting that few change.
 */
async function oldQueries(
  read: Run,
  shard: number,
  { jobsMs, queriesMs = jobsMs, jobsMax }: Retention,
): Promise<Awaited<ReturnType<Run>>> {
  return read(
    `select j.no, octet_length(j.output)::bigint as bytes from millrace.job j
      where j.shard = $1 and j.finished_at < now() - $2 * interval '1 millisecond'
        and j.finished_at >= now() - $3 * interval '1 millisecond' and starts_with(j.output, $4)
        and not (position('.' in j.id) > 0 and millrace.is_live(regexp_replace(j.id, '[.][^.]*$', '')))
      limit $5`,
    [shard, queriesMs, jobsMs, QUERY_OUTPUT_START, jobsMax + 1],
  );
}

/** The same for jobs that are not kept. */
function unkeptJobs(
  read: Run,
  shard: number,
  { jobsMs, unkeptMs = jobsMs, jobsMax }: Retention,
): ReturnType<Run> {
  return read(
    `select no, bytes from millrace.unkept_jobs(
       $1, now() - $2 * interval '1 millisecond', now() - $3 * interval '1 millisecond', $4)`,
    [shard, jobsMs, unkeptMs, jobsMax + 1],
  );
}

async function oldKeys(read: Run, shard: number, { keysMs }: Retention): Promise<Old<string>> {
  const found = await read(
    `select k.scope, coalesce(octet_length(k.result), 0) as bytes from millrace.idempotency k
      where k.shard = $1 and k.state = 'completed'
        and k.updated_at < now() - $2 * interval '1 millisecond'
        and not millrace.is_named(k.shard, k.scope) limit $3`,
    [shard, keysMs, KEYS_MAX + 1],
  );
  const { items, more } = portion(found, KEYS_MAX, (row) => row['bytes'] as number);
  return { items: items.map((row) => row['scope'] as string), more };
}

/** Completions of ended jobs. They belong to no shard: any leader removes them. */
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
