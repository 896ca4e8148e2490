/**
 * What a batch must keep within itself, since no index of the database looks after it: numbers and
 * names that are unique, tasks that come with their specs. Also folds an update of a row that the
 * same batch inserts into the insert.
 */
import type { Batch, JobRow, ResultRow, TaskRow } from '../../core/index.ts';
import { badRow } from '../row-checks.ts';

const key = (...parts: readonly (number | string)[]): string => parts.join('/');

export function checkUnique(batch: Batch): void {
  const { jobInserts, specInserts, taskInserts, archived, signalInserts } = batch;
  unique(
    'job number',
    jobInserts.map((job) => key(job.no)),
  );
  unique(
    'job id',
    jobInserts.map((job) => job.id),
  );
  unique(
    'idempotency key',
    jobInserts.flatMap((job) => job.idempotencyKey ?? []),
  );
  const specs = unique(
    'task',
    specInserts.map((spec) => key(spec.jobNo, spec.taskNo)),
  );
  unique(
    'task id',
    specInserts.map((spec) => key(spec.jobNo, spec.id)),
  );
  for (const ref of unique(
    'task',
    taskInserts.map((task) => key(task.jobNo, task.taskNo)),
  )) {
    if (!specs.has(ref)) throw badRow(`task ${ref}`, 'it has no spec');
  }
  unique(
    'signal',
    signalInserts.map((signal) => key(signal.jobNo, signal.no)),
  );
  unique(
    'signal id',
    signalInserts.map((signal) => key(signal.jobNo, signal.id)),
  );
  unique(
    'archived task',
    archived.map((ref) => key(ref.jobNo, ref.taskNo)),
  );
}

export function checkResults(results: readonly ResultRow[]): void {
  unique(
    'result',
    results.map((row) => key(row.jobNo, row.taskNo, row.run)),
  );
}

function unique(what: string, keys: readonly string[]): ReadonlySet<string> {
  const seen = new Set(keys);
  if (seen.size === keys.length) return seen;
  const twice = keys.find((name, at) => keys.indexOf(name) !== at);
  throw badRow(`${what} ${twice}`, 'it came twice');
}

/** Inserts in their last image, and the updates of rows that are stored already. */
export interface Folded<Row> {
  readonly inserts: readonly Row[];
  readonly updates: readonly Row[];
}

export function foldTasks({ taskInserts, taskUpdates }: Batch): Folded<TaskRow> {
  return fold(
    taskInserts,
    taskUpdates,
    (task) => key(task.jobNo, task.taskNo),
    (_, task) => task,
  );
}

export function foldJobs({ jobInserts, jobUpdates }: Batch): Folded<JobRow> {
  return fold(
    jobInserts,
    jobUpdates,
    (job) => key(job.no),
    (inserted, { state, run, taskCount, stopping, error, startedAt, finishedAt }) => ({
      ...inserted,
      ...{ state, run, taskCount, stopping, error, startedAt, finishedAt },
    }),
  );
}

function fold<Row>(
  inserts: readonly Row[],
  updates: readonly Row[],
  keyOf: (row: Row) => string,
  merge: (inserted: Row, updated: Row) => Row,
): Folded<Row> {
  const last = new Map(updates.map((row) => [keyOf(row), row]));
  const folded = inserts.map((row) => {
    const update = last.get(keyOf(row));
    if (update === undefined) return row;
    last.delete(keyOf(row));
    return merge(row, update);
  });
  return { inserts: folded, updates: [...last.values()] };
}
