/**
 * What a batch must keep within itself where no index of a database looks after it: numbers and names that are unique,
 * tasks that come with their specs.
 */
import { type Batch, taskKey, type TaskRef } from '../core/index.ts';
import { badRow } from './row-checks.ts';

const key = (...parts: readonly (number | string)[]): string => parts.join('/');

export function checkUnique(batch: Batch): void {
  const { jobInserts, specInserts, taskInserts, archived, signalInserts } = batch;
  unique('job number', jobInserts, ({ no }) => no);
  unique('job id', jobInserts, ({ id }) => id);
  unique(
    'idempotency key',
    jobInserts.filter((job) => job.idempotencyKey !== null),
    (job) => job.idempotencyKey ?? '',
  );
  const ref = ({ jobNo, taskNo }: TaskRef): number => taskKey(jobNo, taskNo);
  const specs = unique('task', specInserts, ref);
  unique('task id', specInserts, (spec) => key(spec.jobNo, spec.id));
  unique('task', taskInserts, ref);
  for (const task of taskInserts) {
    if (!specs.has(ref(task)))
      throw badRow(`task ${key(task.jobNo, task.taskNo)}`, 'it has no spec');
  }
  unique('signal', signalInserts, (signal) => key(signal.jobNo, signal.no));
  unique('signal id', signalInserts, (signal) => key(signal.jobNo, signal.id));
  unique('archived task', archived, ref);
  unique('result', [...batch.results, ...batch.copiedResults], (row) =>
    key(row.jobNo, row.taskNo, row.run),
  );
}

function unique<Row>(
  what: string,
  rows: readonly Row[],
  keyOf: (row: Row) => number | string,
): ReadonlySet<number | string> {
  const seen = new Set<number | string>();
  for (const row of rows) {
    const name = keyOf(row);
    if (seen.has(name)) throw badRow(`${what} ${name}`, 'it came twice');
    seen.add(name);
  }
  return seen;
}
