/** Reading the event log. */
import type { EventRow, JobId, JobNo, TaskId, TaskNo } from '../../core/index.ts';
import {
  CHUNK_EVENTS,
  type EventChunk,
  eventsIn,
  logKey,
  type LogNames,
  type LogRef,
  named,
  refsOf,
} from '../event-chunk.ts';
import type { EventView } from '../store.ts';
import { selectRows } from './rows.ts';
import { type Session } from './session.ts';
import { EVENT_CHUNK } from './tables.ts';

/** Of all jobs, or of one. */
export interface Wanted {
  readonly after: number;
  readonly limit: number;
  readonly jobNo: JobNo | null;
}

/** Names are added afterwards and only for these events: a join would read all specs. */
export async function listEvents(
  session: Session,
  shard: number,
  wanted: Wanted,
): Promise<EventView[]> {
  const { after, limit, jobNo } = wanted;
  const events =
    jobNo === null
      ? await portion(session, shard, after, limit)
      : await portionOf(session, shard, { ...wanted, jobNo });
  return named(events, await namesOf(session, shard, refsOf(events)));
}

/** Numbers have no gaps and a chunk a size, so both ends of what is wanted are known. */
async function portion(
  session: Session,
  shard: number,
  after: number,
  limit: number,
): Promise<EventRow[]> {
  const chunks = await selectRows(
    session,
    EVENT_CHUNK,
    `where t.shard = $1::integer and t.last_seq > $2::bigint and t.last_seq < $3::bigint
      order by t.last_seq`,
    shard,
    after,
    Math.min(after + limit + CHUNK_EVENTS, Number.MAX_SAFE_INTEGER),
  );
  return chunks.flatMap(eventsIn).filter(({ seq }) => seq > after && seq <= after + limit);
}

const CHUNKS_AT_ONCE = 50;

/**
 * In chunks whose lowest and highest job number are around the job's own: of all others, narrow
 * columns are read only (measured: 5 ms for a job with a million chunks after it).
 */
async function portionOf(
  session: Session,
  shard: number,
  { after, limit, jobNo }: Wanted & { readonly jobNo: JobNo },
): Promise<EventRow[]> {
  const events: EventRow[] = [];
  for (let from = after; ;) {
    const chunks: readonly EventChunk[] = await selectRows(
      session,
      EVENT_CHUNK,
      `where t.shard = $1::integer and t.last_seq > $2::bigint
         and t.job_min <= $3::bigint and t.job_max >= $3::bigint
        order by t.last_seq limit ${CHUNKS_AT_ONCE}`,
      shard,
      from,
      jobNo,
    );
    for (const event of chunks.flatMap(eventsIn)) {
      if (event.jobNo === jobNo && event.seq > after) events.push(event);
    }
    if (chunks.length < CHUNKS_AT_ONCE || events.length >= limit) return events.slice(0, limit);
    from = chunks.at(-1)?.lastSeq ?? from;
  }
}

async function namesOf(
  session: Session,
  shard: number,
  refs: readonly LogRef[],
): Promise<ReadonlyMap<string, LogNames>> {
  if (refs.length === 0) return new Map();
  const jobs = [...new Set(refs.map((ref) => ref.jobNo))];
  const rows = await session.rows(
    `select j.no, s.task_no, j.id, s.id
       from job j left join (
         select t.job_no, t.task_no, t.id from spec t, (
           select unnest($3::bigint[]) as job_no, unnest($4::integer[]) as task_no) r
          where t.shard = $1::integer and t.job_no = r.job_no and t.task_no = r.task_no) s
         on s.job_no = j.no
      where j.shard = $1::integer and j.no in (select unnest($2::bigint[]))`,
    shard,
    jobs,
    refs.map((ref) => ref.jobNo),
    refs.map((ref) => ref.taskNo),
  );
  const found = rows as [JobNo, TaskNo | null, JobId, TaskId | null][];
  const jobIds = new Map(found.map(([no, , jobId]) => [no, jobId]));
  const taskIds = new Map(found.map(([no, task, , taskId]) => [logKey(no, task), taskId]));
  return new Map(
    refs.map(({ jobNo, taskNo }) => {
      const key = logKey(jobNo, taskNo);
      return [key, { jobId: jobIds.get(jobNo) ?? null, taskId: taskIds.get(key) ?? null }];
    }),
  );
}
