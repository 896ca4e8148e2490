/**
 * A batch as text, for the journal: JSON in columns (`columns.ts`), without the lists that are empty, so that a row costs a few
 * bytes. An update of a job has only what changes: who reads it looks up the rest by the number of the job. A later version
 * reads what this one wrote: a field that came later gets its default in `batchOf`, and anything else needs a new format
 * number.
 */
import { type Batch, batchOf, invariant } from '../../core/index.ts';
import { type ChunkForm, chunksOf, type EventChunk, eventsIn } from '../event-chunk.ts';
import { READERS } from '../row-readers.ts';
import { columnsOf, type PackedRows, rowsOf } from './columns.ts';
import { type ChangedJob, jobOfChange } from './job-change.ts';

const FORMAT = 5;
/** The fourth one had no rising columns of events, and the third one fewer kinds of columns; the second one whole jobs as updates
 * as well: it is read as it is. */
const FORMATS = [2, 3, 4, FORMAT];

type Lists = Omit<Batch, 'commitNo' | 'lastSeq' | 'nextJobNo' | 'events'>;
type Counted = Pick<Batch, 'commitNo' | 'lastSeq' | 'nextJobNo'>;
type Row = Readonly<Record<string, unknown>>;

interface Packed extends Counted {
  readonly format: number;
  readonly lists: Readonly<Partial<Record<keyof Lists, PackedRows | readonly (string | number)[]>>>;
  readonly events?: readonly EventChunk[];
}

/** A record, and the events in it, which are stored later: they are made once. */
export interface PackedBatch {
  readonly body: string;
  readonly chunks: readonly EventChunk[];
}

/** Of an update of a job. */
const CHANGED: readonly (keyof ChangedJob)[] = [
  ...(['no', 'options', 'state', 'run', 'taskCount'] as const),
  ...(['stopping', 'error', 'startedAt', 'finishedAt'] as const),
];

export function packBatch(batch: Batch, form: ChunkForm = 'columns'): PackedBatch {
  const { commitNo, lastSeq, nextJobNo, events, ...all } = batch;
  const lists: Record<string, PackedRows | readonly unknown[]> = {};
  for (const [name, list] of Object.entries(all as Record<string, readonly unknown[]>)) {
    const [first] = list;
    if (first === undefined) continue;
    lists[name] = typeof first === 'object' ? packed(name, list as readonly Row[]) : list;
  }
  const record = { format: FORMAT, commitNo, lastSeq, nextJobNo, lists };
  const chunks = chunksOf(events, form, true);
  return {
    body: JSON.stringify(chunks.length === 0 ? record : { ...record, events: chunks }),
    chunks,
  };
}

function packed(list: string, rows: readonly Row[]): PackedRows {
  const names = list === 'jobUpdates' ? CHANGED : Object.keys(rows[0] ?? {});
  return columnsOf(rows, names, READERS[list] ?? {});
}

export function unpackBatch(body: string): Batch {
  const { format, ...record } = JSON.parse(body) as { readonly format: number };
  // Version 1 had an object for each row.
  if (format === 1) return batchOf(record as unknown as Batch);
  invariant(FORMATS.includes(format), `a journal record has the format ${format}`);
  const { lists, events = [], ...counters } = record as unknown as Packed;
  const all: Record<string, readonly unknown[]> = {};
  for (const [name, list] of Object.entries(lists))
    all[name] = 'rows' in list ? rowsOf(list) : list;
  if (format > 2 && all['jobUpdates'] !== undefined)
    all['jobUpdates'] = (all['jobUpdates'] as readonly ChangedJob[]).map(jobOfChange);
  return batchOf({ ...counters, ...all, events: events.flatMap((chunk) => eventsIn(chunk)) });
}
