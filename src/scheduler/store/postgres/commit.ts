/**
 * The group commit: a batch becomes one statement, always the same one, so that it is parsed and
 * planned once a connection. Migrations 0002, 0006, 0008, 0010, 0014 and 0016 have its functions; 0002 says why it is one statement.
 */
import type { Batch, Instant } from '../../core/index.ts';
import { chunksOf } from '../event-chunk.ts';
import { badRow, checkEvent } from '../row-checks.ts';
import type { Term } from '../store.ts';
import type { Encoder } from './codec.ts';
import type { Parameters } from './connection.ts';
import { writeFailure } from './failure.ts';
import { type LeaderConnection, type Prepared } from './leader-connection.ts';
import { leaseMs, timeoutMultiplierFor } from './timeout-multiplier.ts';
import * as rows from './rows.ts';

type ListName = Exclude<keyof Batch, 'commitNo' | 'lastSeq' | 'nextJobNo'>;

interface Part {
  /** A function of the migrations. */
  readonly call: string;
  /** Its arguments after the shard: an array a column, and what else it has to know. */
  readonly columns: readonly string[];
  readonly encode: (batch: Batch) => Parameters;
}

function part<K extends ListName>(call: string, list: K, encoder: Encoder<Batch[K][number]>): Part {
  const encode = (batch: Batch): Parameters => encoder.encode(batch[list]);
  return { call, columns: encoder.names, encode };
}

/** The same part with a number in front. */
function after(name: string, of: (batch: Batch) => number, { call, columns, encode }: Part): Part {
  return { call, columns: [name, ...columns], encode: (batch) => [of(batch), ...encode(batch)] };
}

/** The number of the event before those of the batch. */
function logFrom({ lastSeq, events }: Batch): number {
  return lastSeq - events.length;
}

/** In the order of the port. */
const PARTS: readonly Part[] = [
  part('archive_tasks', 'archived', rows.refs),
  after('log_from', logFrom, part('insert_jobs', 'jobInserts', rows.jobs)),
  after('log_to', ({ lastSeq }) => lastSeq, part('update_jobs', 'jobUpdates', rows.jobUpdates)),
  part('insert_specs', 'specInserts', rows.specs),
  part('insert_tasks', 'taskInserts', rows.tasks),
  part('update_tasks', 'taskUpdates', rows.tasks),
  part('insert_results', 'results', rows.results),
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
    encode: ({ events }) => rows.chunks.encode(chunksOf(events)),
  },
];

const FENCE_WIDTH = 8;

export const commitStatement: Prepared & { readonly parts: readonly Part[] } = {
  ...nest(),
  parts: PARTS,
};

/** `select insert_events(... insert_jobs(fence($1, ...), $8, ...) ...)`. */
function nest(): Prepared {
  const placeholders = (from: number, count: number): string =>
    Array.from({ length: count }, (_, at) => `$${from + at}`).join(', ');
  let statement = `millrace.fence(${placeholders(1, FENCE_WIDTH)})`;
  let used = FENCE_WIDTH;
  for (const { call, columns } of PARTS) {
    statement = `millrace.${call}(${statement}, ${placeholders(used + 1, columns.length)})`;
    used += columns.length;
  }
  return { statement: `select ${statement}, now() as at`, parameters: used };
}

export async function commit(
  run: LeaderConnection['run'],
  term: Term,
  ttlMs: number,
  batch: Batch,
): Promise<Instant> {
  checkNumbers(batch);
  const { commitNo, lastSeq, nextJobNo, events } = batch;
  const lists = Object.values(batch).filter((list) => Array.isArray(list));
  const rowCount = lists.reduce((total, list) => total + list.length, 0);
  const values = PARTS.flatMap(({ encode }) => encode(batch));
  const timeoutMultiplier = timeoutMultiplierFor(rowCount, lengthOf(values));
  // From the beginning of the transaction: when a long one ends there must be some of it left.
  const untilMs = leaseMs(ttlMs, timeoutMultiplier);
  const counters = [commitNo, lastSeq, events.length, nextJobNo];
  const fence = [term.shard, term.epoch, term.id, untilMs, ...counters];
  const parameters = [...fence, ...values];
  const statement = commitStatement.statement;
  const [row] = await run(statement, parameters, { timeoutMultiplier, term }).catch(
    (cause: unknown) => {
      throw writeFailure(cause, term, commitNo - 1);
    },
  );
  return row?.['at'] as Instant;
}

/** In characters, which is near enough. */
function lengthOf(values: Parameters): number {
  return values.reduce<number>(
    (total, value) => total + (typeof value === 'string' ? value.length : 0),
    0,
  );
}

/** What the batch itself shows; that the counters follow on those stored is for the fence to say. */
function checkNumbers({
  events,
  lastSeq,
  jobInserts,
  nextJobNo,
  specInserts,
  taskInserts,
}: Batch): void {
  let expected = lastSeq - events.length;
  for (const event of events) {
    expected += 1;
    if (event.seq !== expected) {
      throw badRow(`event ${event.seq}`, `the numbers up to ${lastSeq} have a gap`);
    }
    // Inside a chunk the server cannot look after them.
    checkEvent(event);
  }
  for (const { no } of jobInserts) {
    if (no >= nextJobNo) throw badRow(`job ${no}`, `nextJobNo is ${nextJobNo}`);
  }
  if (specInserts.length !== taskInserts.length) {
    throw badRow('the batch', 'specs and tasks do not come in pairs');
  }
}
