/**
 * The log is stored in chunks: a row holds the events of one commit, at most 500 of them, as columns
 * in JSON text. Eight rows a job, each in two indexes, were the dearest part of a commit; what
 * is left of them is a few bytes an event.
 *
 * A column whose values are all the same is that value alone. Times are stored as the milliseconds before
 * `at`, job numbers from `jobMin` on: short numbers, which a database also compresses well.
 *
 * A commit does the same with many jobs, so most of its events are those of one job, again and again (`event-blocks.ts`). Where a
 * store can read that, its chunks have this form instead, and are a hundred bytes long in place of ten thousand.
 */
import {
  type EventRow,
  type Instant,
  instant,
  invariant,
  type JobId,
  type JobNo,
  jobNo,
  LOG_KINDS,
  logKindNumber,
  type TaskId,
} from '../core/index.ts';
import { type Block, blocksOf, type Cell, cellsIn } from './event-blocks.ts';
import { badRow } from './row-checks.ts';
import type { EventView } from './store.ts';

/** Small enough that a page of a hundred events costs little more than its own chunk. */
export const CHUNK_EVENTS = 500;

export interface EventChunk {
  readonly firstSeq: number;
  readonly lastSeq: number;
  /** The time of the newest event: when it is old, all are. */
  readonly at: Instant;
  /** Null when no event has a job. */
  readonly jobMin: JobNo | null;
  readonly jobMax: JobNo | null;
  readonly body: string;
}

type Column = Cell | readonly Cell[] | Rising;

/** Each is the one before and one more: the tasks of a large job, one after the other. Tables do not read it, see `storedChunk`. */
interface Rising {
  readonly from: number;
}

/** `columns`: a list for each field. `blocks`: columns, or blocks where those are shorter. */
export type ChunkForm = 'columns' | 'blocks';

/**
 * Numbers have to follow on each other: a chunk knows only its first and its last.
 *
 * @param isBrief for the journal: the chunks of a large job, which nobody reads there, are a hundred bytes each instead of thousands.
 */
export function chunksOf(
  events: readonly EventRow[],
  form: ChunkForm = 'columns',
  isBrief = false,
): EventChunk[] {
  const chunks: EventChunk[] = [];
  for (let from = 0; from < events.length; from += CHUNK_EVENTS) {
    const portion =
      events.length <= CHUNK_EVENTS ? events : events.slice(from, from + CHUNK_EVENTS);
    chunks.push(chunkOf(portion, form, isBrief));
  }
  return chunks;
}

function chunkOf(events: readonly EventRow[], form: ChunkForm, isBrief: boolean): EventChunk {
  const firstSeq = events[0]?.seq ?? 1;
  let at = events[0]?.at ?? instant(0);
  let oldest = at;
  let jobMin: JobNo | null = null;
  let jobMax: JobNo | null = null;
  let expected = firstSeq;
  for (const event of events) {
    if (event.seq !== expected) {
      throw badRow(`event ${event.seq}`, `the next event number is ${expected}`);
    }
    expected += 1;
    if (event.at > at) at = event.at;
    if (event.at < oldest) oldest = event.at;
    const { jobNo: job } = event;
    if (job === null) continue;
    if (jobMin === null || job < jobMin) jobMin = job;
    if (jobMax === null || job > jobMax) jobMax = job;
  }
  if (!Number.isSafeInteger(at - oldest)) {
    throw badRow(`event ${firstSeq}`, 'its time is too far from the others');
  }
  const lastSeq = firstSeq + events.length - 1;
  const blocks = form === 'blocks' ? blocksOf(events, at, jobMin ?? 0) : null;
  const body =
    blocks === null ? bodyOf(events, at, jobMin ?? 0, isBrief) : JSON.stringify({ blocks });
  return { firstSeq, lastSeq, at, jobMin, jobMax, body };
}

/** One walk over the events tells which columns have more than one value: most have not, and no list is made for those. */
function bodyOf(
  events: readonly EventRow[],
  newest: Instant,
  jobMin: number,
  isBrief: boolean,
): string {
  const first = events[0] as EventRow;
  const varies = { ...SAME };
  for (const event of events) {
    if (event.kind !== first.kind) varies.kind = true;
    if (event.at !== first.at) varies.at = true;
    if (event.jobNo !== first.jobNo) varies.jobNo = true;
    if (event.taskNo !== first.taskNo) varies.taskNo = true;
    if (event.nodeId !== first.nodeId) varies.nodeId = true;
    if (event.run !== first.run) varies.run = true;
    if (event.attempt !== first.attempt) varies.attempt = true;
    if (event.fence !== first.fence) varies.fence = true;
    if (event.detail !== first.detail) varies.detail = true;
  }
  const column = (isList: boolean, of: (event: EventRow) => Cell): Column =>
    isList ? events.map(of) : of(first);
  return JSON.stringify([
    column(varies.kind, ({ kind }) => logKindNumber(kind)),
    column(varies.at, ({ at }) => newest - at),
    column(varies.jobNo, ({ jobNo: job }) => (job === null ? null : job - jobMin)),
    (isBrief && varies.taskNo ? risingTasks(events) : null) ??
      column(varies.taskNo, ({ taskNo }) => taskNo),
    column(varies.nodeId, ({ nodeId }) => nodeId),
    column(varies.run, ({ run }) => run),
    column(varies.attempt, ({ attempt }) => attempt),
    column(varies.fence, ({ fence }) => fence),
    column(varies.detail, ({ detail }) => detail),
  ]);
}

function risingTasks(events: readonly EventRow[]): Rising | null {
  const from = events[0]?.taskNo ?? null;
  if (from === null) return null;
  for (let at = 1; at < events.length; at += 1) if (events[at]?.taskNo !== from + at) return null;
  return { from };
}

/** As tables have it. */
export function storedChunk(chunk: EventChunk): EventChunk {
  // No text in a chunk can be mistaken for it: there a quotation mark follows on a backslash.
  if (!chunk.body.includes('{"from":')) return chunk;
  const rows = chunk.lastSeq - chunk.firstSeq + 1;
  const columns = (JSON.parse(chunk.body) as readonly Column[]).map((column) =>
    isRising(column) ? Array.from({ length: rows }, (_, at) => column.from + at) : column,
  );
  return { ...chunk, body: JSON.stringify(columns) };
}

const SAME = {
  ...{ kind: false, at: false, jobNo: false, taskNo: false, nodeId: false },
  ...{ run: false, attempt: false, fence: false, detail: false },
};

export function eventsIn({ firstSeq, lastSeq, at, jobMin, body }: EventChunk): EventRow[] {
  const read = JSON.parse(body) as readonly Column[] | { readonly blocks: readonly Block[] };
  const rows = 'blocks' in read ? cellsIn(read.blocks) : [];
  const columns = 'blocks' in read ? null : read;
  const cell = (place: number, row: number): Cell => {
    if (columns === null) return rows[row]?.[place] ?? null;
    const values = columns[place] ?? null;
    if (isRising(values)) return values.from + row;
    return isList(values) ? (values[row] ?? null) : values;
  };
  return Array.from({ length: lastSeq - firstSeq + 1 }, (_, row): EventRow => {
    const kind = LOG_KINDS[cell(0, row) as number];
    invariant(kind !== undefined, `event ${firstSeq + row} has no kind`);
    const job = cell(2, row) as number | null;
    return {
      seq: firstSeq + row,
      at: instant(at - (cell(1, row) as number)),
      kind,
      jobNo: job === null ? null : jobNo((jobMin ?? 0) + job),
      taskNo: cell(3, row) as EventRow['taskNo'],
      nodeId: cell(4, row) as EventRow['nodeId'],
      run: cell(5, row) as number | null,
      attempt: cell(6, row) as number | null,
      fence: cell(7, row) as number | null,
      detail: cell(8, row) as string | null,
    };
  });
}

const isList = (values: Column): values is readonly Cell[] => Array.isArray(values);
const isRising = (values: Column): values is Rising =>
  typeof values === 'object' && values !== null && 'from' in values;

/** What a page of the log shows: a job and a task by their numbers. */
export interface LogRef {
  readonly jobNo: JobNo;
  readonly taskNo: EventRow['taskNo'];
}

/** The names that a page needs, each once. */
export function refsOf(events: readonly EventRow[]): LogRef[] {
  const refs = new Map<string, LogRef>();
  for (const { jobNo: job, taskNo } of events) {
    if (job !== null) refs.set(logKey(job, taskNo), { jobNo: job, taskNo });
  }
  return [...refs.values()];
}

export interface LogNames {
  readonly jobId: JobId | null;
  readonly taskId: TaskId | null;
}

/** A job that was removed has no name any more; its events are still there. */
export function named(
  events: readonly EventRow[],
  names: ReadonlyMap<string, LogNames>,
): EventView[] {
  const of = ({ jobNo: job, taskNo }: EventRow): LogNames | undefined =>
    job === null ? undefined : names.get(logKey(job, taskNo));
  return events.map((event) => {
    const { jobId = null, taskId = null } = of(event) ?? {};
    return { ...event, jobId, taskId };
  });
}

export function logKey(job: JobNo, taskNo: EventRow['taskNo']): string {
  return `${job}/${taskNo ?? ''}`;
}
