/**
 * The tables follow the journal: any number of commits become one transaction, of a COPY with the rows of new jobs, which are
 * most of what there is to write, and of one statement for the rest, always the same one, so that it is parsed and planned
 * once a connection. Migration 0002 says why it is one statement and has most of its functions; 0006,
 * 0008, 0010, 0014, 0016, 0020, 0023, 0024, 0025, 0029 and 0030 have the others.
 */
import type { Batch, JobRow } from '../../core/index.ts';
import type { Fold } from '../journal/port.ts';
import type { Encoder } from './codec.ts';
import type { Parameters } from './connection.ts';
import { isElsewhere, writeFailure } from './failure.ts';
import type { FoldConnection } from './fold-connection.ts';
import { copyOfJobs } from './folded-jobs.ts';
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
  /** How they are made of the values that are sent, which are as many and one more. */
  readonly arguments: (placeholders: readonly string[]) => readonly string[];
  readonly encode: (fold: Written) => Parameters;
}

function part<K extends ListName>(call: string, list: K, encoder: Encoder<Batch[K][number]>): Part {
  return partOf(call, encoder, ({ batch }) => batch[list]);
}

function partOf<Row>(
  call: string,
  encoder: Encoder<Row>,
  rowsIn: (fold: Written) => readonly Row[],
): Part {
  return {
    ...{ call, columns: encoder.names },
    arguments: ([count = '', ...rest]) => encoder.arguments(rest, `${count}::integer`),
    encode: (fold) => {
      const list = rowsIn(fold);
      return [list.length, ...encoder.encodeBriefly(list)];
    },
  };
}

/** Of jobs and tasks the rows that were chosen. */
function chosen<K extends keyof TableRows>(
  call: string,
  list: K,
  encoder: Encoder<TableRows[K][number]>,
): Part {
  return partOf<TableRows[K][number]>(call, encoder, ({ rows: written }) => written[list]);
}

/** The same part with a number in front. */
function after(name: string, of: (fold: Fold) => number, then: Part): Part {
  return {
    call: then.call,
    columns: [name, ...then.columns],
    arguments: ([first = '', ...rest]) => [first, ...then.arguments(rest)],
    encode: (fold) => [of(fold), ...then.encode(fold)],
  };
}

/** The number of the last event. */
const logTo = ({ batch }: Fold): number => batch.lastSeq;

const liveJobs = ({ batch }: Fold): readonly JobRow[] =>
  batch.jobInserts.filter(({ finishedAt }) => finishedAt === null);
function labels({ batch }: Fold): readonly rows.LabelRow[] {
  const all: rows.LabelRow[] = [];
  for (const job of batch.jobInserts) {
    for (const label of job.labels) all.push({ jobNo: job.no, label });
  }
  return all;
}

/** In the order of the port. */
const PARTS: readonly Part[] = [
  partOf('insert_history', rows.tasks, ({ history }) => history),
  chosen('spread_tasks', 'spread', rows.numbers),
  part('archive_tasks', 'archived', rows.refs),
  partOf('insert_live', rows.liveJobs, liveJobs),
  partOf('insert_labels', rows.labels, labels),
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
  partOf('insert_events', rows.chunks, ({ chunks }) => chunks),
];

/** Where the tables are, and where they will be; and how long each of the next statements may take. */
const BEGIN = `select millrace.begin_fold($1, $2, $3, $4, $5, $6), set_config('statement_timeout', $7, true)`;

export const foldStatement: { readonly statement: string; readonly parts: readonly Part[] } = {
  statement: nest(),
  parts: PARTS,
};

/** `select insert_events(... insert_live($1, each($3, $2), ...) ...)`. */
function nest(): string {
  const placeholders = (from: number, count: number): string[] =>
    Array.from({ length: count }, (_, at) => `$${from + at}`);
  let statement = '$1';
  let used = 1;
  for (const each of PARTS) {
    const sent = each.columns.length + 1;
    const given = each.arguments(placeholders(used + 1, sent));
    statement = `millrace.${each.call}(${statement}, ${given.join(', ')})`;
    used += sent;
  }
  return `select ${statement}`;
}

/** False when the tables are at another commit, or in another history. */
export async function fold(
  connection: FoldConnection,
  shard: number,
  commits: Fold,
): Promise<boolean> {
  const { after: from, settledBefore, batch, term, settledNo } = commits;
  const place = [shard, from, settledBefore, batch.commitNo, term, settledNo];
  const written = { ...commits, rows: tableRows(commits) };
  const values = PARTS.flatMap(({ encode }) => encode(written));
  const jobs = copyOfJobs(shard, commits, written.rows.jobInserts);
  try {
    await connection.transaction(async ({ run, copy }) => {
      const statementMs = connection.statementMs(bytesOf(values) + (jobs?.body.length ?? 0));
      await run(BEGIN, [...place, String(statementMs)]);
      if (jobs !== null) await copy(jobs);
      await run(foldStatement.statement, [shard, ...values]);
    });
    return true;
  } catch (cause) {
    if (isElsewhere(cause)) return false;
    throw writeFailure(cause);
  }
}

/** About. */
function bytesOf(values: Parameters): number {
  return values.reduce<number>((sum, value) => sum + String(value ?? '').length, 0);
}
