/**
 * How the columns of the most frequent rows are read. A field that is named in the program costs a fraction of one
 * that is looked up by its name, and a commit reads some fifty of them for each job.
 */
import type { JobRow, ResultRow, TaskRow, TaskSpecRow } from '../core/index.ts';

export type Readers<Row> = { readonly [Field in keyof Row]-?: (row: Row) => Row[Field] };

export const jobReaders: Readers<JobRow> = {
  no: (row) => row.no,
  id: (row) => row.id,
  name: (row) => row.name,
  priority: (row) => row.priority,
  idempotencyKey: (row) => row.idempotencyKey,
  maxParallel: (row) => row.maxParallel,
  onFailure: (row) => row.onFailure,
  totalMs: (row) => row.totalMs,
  scheduleId: (row) => row.scheduleId,
  output: (row) => row.output,
  labels: (row) => row.labels,
  runAt: (row) => row.runAt,
  options: (row) => row.options,
  createdAt: (row) => row.createdAt,
  state: (row) => row.state,
  run: (row) => row.run,
  taskCount: (row) => row.taskCount,
  stopping: (row) => row.stopping,
  error: (row) => row.error,
  startedAt: (row) => row.startedAt,
  finishedAt: (row) => row.finishedAt,
};

export const specReaders: Readers<TaskSpecRow> = {
  jobNo: (row) => row.jobNo,
  taskNo: (row) => row.taskNo,
  id: (row) => row.id,
  executor: (row) => row.executor,
  priority: (row) => row.priority,
  parentNo: (row) => row.parentNo,
  dependsOn: (row) => row.dependsOn,
  idempotencyKey: (row) => row.idempotencyKey,
  options: (row) => row.options,
  input: (row) => row.input,
};

export const taskReaders: Readers<TaskRow> = {
  jobNo: (row) => row.jobNo,
  taskNo: (row) => row.taskNo,
  state: (row) => row.state,
  run: (row) => row.run,
  attempt: (row) => row.attempt,
  failures: (row) => row.failures,
  losses: (row) => row.losses,
  fence: (row) => row.fence,
  term: (row) => row.term,
  nodeId: (row) => row.nodeId,
  sessionId: (row) => row.sessionId,
  stopping: (row) => row.stopping,
  suspended: (row) => row.suspended,
  waits: (row) => row.waits,
  notBefore: (row) => row.notBefore,
  progress: (row) => row.progress,
  error: (row) => row.error,
  queuedAt: (row) => row.queuedAt,
  startedAt: (row) => row.startedAt,
  finishedAt: (row) => row.finishedAt,
};

const resultReaders: Readers<ResultRow> = {
  jobNo: (row) => row.jobNo,
  taskNo: (row) => row.taskNo,
  run: (row) => row.run,
  body: (row) => row.body,
};

type AnyReaders = Readonly<Record<string, (row: Readonly<Record<string, unknown>>) => unknown>>;

const asReaders = (readers: object): AnyReaders => readers as AnyReaders;

/** By the name of the list in a batch; fields of all other lists are looked up by their names. */
export const READERS: Readonly<Record<string, AnyReaders>> = {
  jobInserts: asReaders(jobReaders),
  jobUpdates: asReaders(jobReaders),
  specInserts: asReaders(specReaders),
  taskInserts: asReaders(taskReaders),
  taskUpdates: asReaders(taskReaders),
  results: asReaders(resultReaders),
};
