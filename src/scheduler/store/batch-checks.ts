/**
 * What a batch must keep within itself where no index of a database looks after it: numbers and names that are unique,
 * tasks that come with their specs.
 */
import type { Batch } from '../core/index.ts';
import { badRow } from './row-checks.ts';

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
  unique(
    'result',
    [...batch.results, ...batch.copiedResults].map((row) => key(row.jobNo, row.taskNo, row.run)),
  );
}

function unique(what: string, keys: readonly string[]): ReadonlySet<string> {
  const seen = new Set(keys);
  if (seen.size === keys.length) return seen;
  const twice = keys.find((name, at) => keys.indexOf(name) !== at);
  throw badRow(`${what} ${twice}`, 'it came twice');
}
