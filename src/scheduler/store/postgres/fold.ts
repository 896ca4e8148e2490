/**
 * The tables follow the journal: any number of commits become one statement, always the same one, so that it is parsed
 * and planned once a connection. Migration 0002 says why it is one statement and has most of its functions; 0006, 0008,
 * 0010, 0014, 0016, 0020, 0023 and 0024 have the others.
 */
import type { Batch } from '../../core/index.ts';
import type { Fold } from '../journal/port.ts';
import type { Encoder } from './codec.ts';
import type { Parameters } from './connection.ts';
import { isElsewhere, writeFailure } from './failure.ts';
import type { FoldConnection } from './fold-connection.ts';
import * as rows from './rows.ts';
import { type TableRows, tableRows } from './table-rows.ts';

type ListName = Exclude<keyof Batch, 'commitNo' | 'lastSeq' | 'nextJobNo'>;

/** A fold with the rows that it writes. */
interface Written extends Fold {
  readonly rows: TableRows;
}

interface Part {
  /** A function of the migrations. */
  readonly call: string;
  /** Its arguments after the shard: an array a column, and what else it has to know. */
  readonly columns: readonly string[];
  readonly encode: (fold: Written) => Parameters;
}

function part<K extends ListName>(call: string, list: K, encoder: Encoder<Batch[K][number]>): Part {
  const encode = ({ batch }: Written): Parameters => encoder.encode(batch[list]);
  return { call, columns: encoder.names, encode };
}

/** Of jobs and tasks the rows that were chosen. */
function chosen<K extends keyof TableRows>(
  call: string,
  list: K,
  encoder: Encoder<TableRows[K][number]>,
): Part {
  const encode = ({ rows: written }: Written): Parameters => encoder.encode(written[list]);
  return { call, columns: encoder.names, encode };
}

/** The same part with a number in front. */
function after(name: string, of: (batch: Batch) => number, { call, columns, encode }: Part): Part {
  return {
    call,
    columns: [name, ...columns],
    encode: (fold) => [of(fold.batch), ...encode(fold)],
  };
}

/** The number of the event before those of the batch, and that of the last one. */
const logFrom = ({ lastSeq, events }: Batch): number => lastSeq - events.length;
const logTo = ({ lastSeq }: Batch): number => lastSeq;

/** In the order of the port. */
const PARTS: readonly Part[] = [
  {
    call: 'insert_history',
    columns: rows.tasks.names,
    encode: ({ history }) => rows.tasks.encode(history),
  },
  chosen('spread_tasks', 'spread', rows.numbers),
  part('archive_tasks', 'archived', rows.refs),
  after(
    'log_from',
    logFrom,
    after('log_to', logTo, chosen('insert_jobs', 'jobInserts', rows.foldedJobs)),
  ),
  after('log_to', logTo, chosen('update_jobs', 'jobUpdates', rows.jobUpdates)),
  chosen('insert_specs', 'specInserts', rows.specs),
  chosen('insert_tasks', 'taskInserts', rows.tasks),
  chosen('update_tasks', 'taskUpdates', rows.tasks),
  chosen('insert_results', 'results', rows.results),
  part('put_keys', 'keyUpserts', rows.keys),
  part('delete_keys', 'keyDeletes', rows.scopes),
  part('copy_results', 'copiedResults', rows.copiedResults),
  part('insert_steps', 'steps', rows.steps),
  part('insert_signals', 'signalInserts', rows.signals),
  part('take_signals', 'takenSignals', rows.takenSignals),
  part('put_nodes', 'nodeUpserts', rows.nodes),
  part('delete_nodes', 'nodeDeletes', rows.ids),
  part('put_schedules', 'scheduleUpserts', rows.schedules),
  part('delete_schedules', 'scheduleDeletes', rows.ids),
  part('put_limits', 'limitUpserts', rows.limits),
  part('delete_limits', 'limitDeletes', rows.ids),
  part('delete_inbox', 'inboxDeletes', rows.numbers),
  {
    call: 'insert_events',
    columns: rows.chunks.names,
    encode: ({ chunks }) => rows.chunks.encode(chunks),
  },
];

/** Shard, `after`, number and term of the last commit. */
const PLACE_WIDTH = 4;

export const foldStatement: { readonly statement: string; readonly parts: readonly Part[] } = {
  statement: nest(),
  parts: PARTS,
};

/** `select insert_events(... insert_jobs(begin_fold($1, ...), $5, ...) ...)`. */
function nest(): string {
  const placeholders = (from: number, count: number): string =>
    Array.from({ length: count }, (_, at) => `$${from + at}`).join(', ');
  let statement = `millrace.begin_fold(${placeholders(1, PLACE_WIDTH)})`;
  let used = PLACE_WIDTH;
  for (const { call, columns } of PARTS) {
    statement = `millrace.${call}(${statement}, ${placeholders(used + 1, columns.length)})`;
    used += columns.length;
  }
  return `select ${statement}`;
}

/** False when the tables are at another commit, or in another history. */
export async function fold(
  connection: FoldConnection,
  shard: number,
  commits: Fold,
): Promise<boolean> {
  const place = [shard, commits.after, commits.batch.commitNo, commits.term];
  const written = { ...commits, rows: tableRows(commits) };
  const values = PARTS.flatMap(({ encode }) => encode(written));
  try {
    await connection.run(foldStatement.statement, [...place, ...values]);
    return true;
  } catch (cause) {
    if (isElsewhere(cause)) return false;
    throw writeFailure(cause);
  }
}
