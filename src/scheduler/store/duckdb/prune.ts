/**
 * Old rows go. Deleted rows leave the file at the next checkpoint: groups of rows without a
 * survivor are freed and sparse ones merged; freed blocks are used again, and the file gets shorter
 * when they lie at its end.
 */
import { KEEP_TEXT, QUERY_OUTPUT_START } from '../../core/index.ts';
import type { Instant } from '../../core/index.ts';
import { eventsIn } from '../event-chunk.ts';
import type { Pruned, Pruning, Retention, Term } from '../store.ts';
import { selectRows } from './rows.ts';
import { type Session } from './session.ts';
import type { Shard, Shards } from './shards.ts';
import { EVENT_CHUNK } from './tables.ts';
import { inTransaction } from './transaction.ts';

type HashAndNo = readonly [number, number];

interface PruneChanges {
  readonly pruned: Pruned;
  readonly firstSeq: number;
  /** Entries that the indexes lose once the transaction is committed. */
  readonly jobs: readonly HashAndNo[];
  readonly jobKeys: readonly HashAndNo[];
  readonly keys: readonly HashAndNo[];
}

export async function prune(
  session: Session,
  shards: Shards,
  { term, retention, now }: { term: Term; retention: Pruning; now: Instant },
): Promise<Pruned> {
  const shard = shards.led(term);
  if ('only' in retention) return removeJob(session, shards, shard.no, retention.only);
  const changes = await inTransaction(session, () => pruneShard(session, shard, retention, now));
  for (const [hash, no] of changes.jobs) shards.jobs.remove(hash, no);
  for (const [hash, no] of changes.jobKeys) shards.jobKeys.remove(hash, no);
  for (const [hash, no] of changes.keys) shards.keys.remove(hash, no);
  shards.set({ ...shards.get(shard.no), firstSeq: changes.firstSeq });
  return changes.pruned;
}

async function pruneShard(
  session: Session,
  shard: Shard,
  retention: Retention,
  now: Instant,
): Promise<PruneChanges> {
  const jobs = await pruneJobs(session, shard.no, retention, now);
  const { removed, firstSeq } = await pruneEvents(session, shard, now - retention.eventsMs);
  const keys = await pruneKeys(session, shard.no, now - retention.keysMs);
  // The counters can no longer be distinguished from rows that are gone.
  await session.run(
    `update shard set last_seq = $2::bigint, next_job_no = $3::bigint, first_seq = $4::bigint
      where shard = $1::integer`,
    shard.no,
    shard.lastSeq,
    shard.nextJobNo,
    firstSeq,
  );
  return {
    pruned: { jobs: jobs.ids.length, events: removed, keys: keys.length, more: jobs.more },
    firstSeq,
    jobs: jobs.ids,
    jobKeys: jobs.keys,
    keys,
  };
}

async function removeJob(
  session: Session,
  shards: Shards,
  shard: number,
  only: number,
): Promise<Pruned> {
  const gone = await inTransaction(session, async () => {
    const found = await session.rows(
      `select no, id_hash, idempotency_key_hash from job
        where shard = $1::integer and no = $2::bigint and finished_at is not null`,
      shard,
      only,
    );
    return deleteJobs(session, shard, found as FoundJob[]);
  });
  for (const [hash, no] of gone.ids) shards.jobs.remove(hash, no);
  for (const [hash, no] of gone.keys) shards.jobKeys.remove(hash, no);
  return { jobs: gone.ids.length, events: 0, keys: 0, more: false };
}

/** Its number, and the hashes of its id and its idempotency key. */
type FoundJob = [number, number, number | null];

const CHILDREN = ['spec', 'task', 'history', 'result', 'step', 'signal'];

/** What a live job has called stays: its caller gets its result each time it is run again. The id of a
 * called job is that of its caller, a dot, and a name without one. */
async function pruneJobs(
  session: Session,
  shard: number,
  { jobsMs, queriesMs = jobsMs, unkeptMs = jobsMs, jobsMax: max }: Retention,
  now: Instant,
): Promise<{ ids: HashAndNo[]; keys: HashAndNo[]; more: boolean }> {
  const found = await session.rows(
    `select no, id_hash, idempotency_key_hash from job
      where shard = $1::integer
        and (finished_at < $2::bigint or (finished_at < $4::bigint and starts_with(output, $5::varchar))
          or (finished_at < $6::bigint and contains(options, $7::varchar)
            and (state = 'succeeded' or contains(options, $8::varchar))))
        and regexp_replace(id, '[.][^.]*$', '') not in (
          select live.id from job live where live.shard = $1::integer and live.finished_at is null
        )
      order by no limit $3::bigint`,
    shard,
    now - jobsMs,
    max + 1,
    now - queriesMs,
    QUERY_OUTPUT_START,
    now - unkeptMs,
    KEEP_TEXT.some,
    KEEP_TEXT.none,
  );
  const gone = await deleteJobs(session, shard, found.slice(0, max) as FoundJob[]);
  return { ...gone, more: found.length > max };
}

async function deleteJobs(
  session: Session,
  shard: number,
  old: readonly FoundJob[],
): Promise<{ ids: HashAndNo[]; keys: HashAndNo[] }> {
  const numbers = old.map(([no]) => no);
  for (const table of old.length === 0 ? [] : ['job', ...CHILDREN]) {
    const column = table === 'job' ? 'no' : 'job_no';
    await session.run(
      `delete from ${table}
        where shard = $1::integer and ${column} in (select unnest($2::bigint[]))`,
      shard,
      numbers,
    );
  }
  return {
    ids: old.map(([no, hash]) => [hash, no]),
    keys: old.flatMap(([no, , hash]) => (hash === null ? [] : [[hash, no] as const])),
  };
}

/** From the front only: what remains has no gaps, whatever order the times are in. */
async function pruneEvents(
  session: Session,
  shard: Shard,
  before: number,
): Promise<{ removed: number; firstSeq: number }> {
  const [kept] = await selectRows(
    session,
    EVENT_CHUNK,
    `where t.shard = $1::integer and t.happened_at >= $2::bigint order by t.last_seq limit 1`,
    shard.no,
    before,
  );
  const first = kept === undefined ? null : eventsIn(kept).find((event) => event.at >= before);
  const firstSeq = Math.max(first?.seq ?? shard.lastSeq + 1, shard.firstSeq);
  await session.run(
    `delete from event_chunk where shard = $1::integer and last_seq < $2::bigint`,
    shard.no,
    firstSeq,
  );
  return { removed: firstSeq - shard.firstSeq, firstSeq };
}

/** A live job may still wait for a key that it names, or copy its result. */
async function pruneKeys(session: Session, shard: number, before: number): Promise<HashAndNo[]> {
  const gone = await session.rows(
    `delete from idempotency
      where shard = $1::integer and state = 'completed' and updated_at < $2::bigint
        and scope not in (
          select s.executor || '/' || s.idempotency_key
            from spec s join job j on j.shard = s.shard and j.no = s.job_no
           where s.shard = $1::integer and j.finished_at is null and s.idempotency_key is not null
        )
      returning scope_hash, no`,
    shard,
    before,
  );
  return gone as [number, number][];
}
