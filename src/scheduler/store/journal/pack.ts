/**
 * A batch as text, for the journal: JSON in columns, without the lists that are empty. A column whose values are all the
 * same is that value alone, and large numbers are the distance from the first one, so that a row costs a few bytes. A
 * later version reads what this one wrote: a field that came later gets its default in `batchOf`, and anything else needs
 * a new format number.
 */
import { type Batch, batchOf, invariant } from '../../core/index.ts';
import { chunksOf, type EventChunk, eventsIn } from '../event-chunk.ts';
import { READERS } from '../row-readers.ts';

const FORMAT = 2;

type Lists = Omit<Batch, 'commitNo' | 'lastSeq' | 'nextJobNo' | 'events'>;
type Counted = Pick<Batch, 'commitNo' | 'lastSeq' | 'nextJobNo'>;
type Row = Readonly<Record<string, unknown>>;

/** `one`: the same in all rows. `from`: numbers as their distance from this one. */
type Column =
  | { readonly one: unknown }
  | { readonly from: number; readonly by: readonly number[] }
  | readonly unknown[];

interface PackedRows {
  readonly rows: number;
  readonly columns: Readonly<Record<string, Column>>;
}

interface Packed extends Counted {
  readonly format: number;
  readonly lists: Readonly<Partial<Record<keyof Lists, PackedRows | readonly (string | number)[]>>>;
  readonly events?: readonly EventChunk[];
}

/** A record, and the events in it as they are stored later: they are made once. */
export interface PackedBatch {
  readonly body: string;
  readonly chunks: readonly EventChunk[];
}

export function packBatch(batch: Batch): PackedBatch {
  const { commitNo, lastSeq, nextJobNo, events, ...all } = batch;
  const lists: Record<string, PackedRows | readonly unknown[]> = {};
  for (const [name, list] of Object.entries(all as Record<string, readonly unknown[]>)) {
    if (list.length > 0)
      lists[name] = typeof list[0] === 'object' ? columnsOf(name, list as Row[]) : list;
  }
  const packed = { format: FORMAT, commitNo, lastSeq, nextJobNo, lists };
  const chunks = chunksOf(events);
  return {
    body: JSON.stringify(chunks.length === 0 ? packed : { ...packed, events: chunks }),
    chunks,
  };
}

export function unpackBatch(body: string): Batch {
  const { format, ...packed } = JSON.parse(body) as { readonly format: number };
  // Version 1 had an object for each row.
  if (format === 1) return batchOf(packed as unknown as Batch);
  invariant(format === FORMAT, `a journal record has the format ${format}`);
  const { lists, events = [], ...counters } = packed as unknown as Packed;
  const all: Record<string, readonly unknown[]> = {};
  for (const [name, list] of Object.entries(lists))
    all[name] = 'rows' in list ? rowsOf(list) : list;
  return batchOf({ ...counters, ...all, events: events.flatMap((chunk) => eventsIn(chunk)) });
}

/** Below this a distance is hardly shorter than the number. */
const LARGE = 1_000_000;

function columnsOf(list: string, rows: readonly Row[]): PackedRows {
  const columns: Record<string, Column> = {};
  const readers = READERS[list] ?? {};
  for (const name of Object.keys(rows[0] ?? {})) {
    columns[name] = columnOf(rows, readers[name] ?? ((row) => row[name]));
  }
  return { rows: rows.length, columns };
}

function columnOf(rows: readonly Row[], read: (row: Row) => unknown): Column {
  const first = read(rows[0] as Row);
  let same = 1;
  while (same < rows.length && isSame(read(rows[same] as Row), first)) same += 1;
  // Most columns of most batches: no list is made for them.
  if (same === rows.length) return { one: first };
  const values = rows.map(read);
  if (typeof first !== 'number' || first < LARGE || !values.every(Number.isSafeInteger)) {
    return values;
  }
  return { from: first, by: (values as number[]).map((value) => value - first) };
}

/** Empty lists are equal, whoever made them: dependencies and labels are, of most jobs. */
function isSame(value: unknown, first: unknown): boolean {
  return value === first || (isEmptyList(value) && isEmptyList(first));
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

function rowsOf({ rows, columns }: PackedRows): Row[] {
  const names = Object.keys(columns);
  const read = names.map((name) => readerOf(columns[name] ?? []));
  return Array.from({ length: rows }, (_, at) => {
    const row: Record<string, unknown> = {};
    for (const [place, name] of names.entries()) row[name] = read[place]?.(at);
    return row;
  });
}

function readerOf(column: Column): (at: number) => unknown {
  if ('one' in column) return () => column.one;
  if ('by' in column) return (at) => column.from + (column.by[at] ?? 0);
  return (at) => column[at];
}
