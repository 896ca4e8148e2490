/** What an update of a job changes. A record of the journal has nothing else of it. */
import { instant, type JobId, type JobRow } from '../../core/index.ts';

export type ChangedJob = Pick<
  JobRow,
  | 'no'
  | ('options' | 'state' | 'run' | 'taskCount' | 'stopping' | 'error' | 'startedAt' | 'finishedAt')
>;

/** The columns that never change stay as they were inserted, whatever the image says. */
export function updatedJob(stored: JobRow, row: JobRow): JobRow {
  // Nearly all images are those of the leader, and say what was inserted.
  if (isSameBeside(stored, row)) return row;
  // Field by field: a copy by spread costs several times as much.
  return {
    no: stored.no,
    id: stored.id,
    name: stored.name,
    priority: stored.priority,
    idempotencyKey: stored.idempotencyKey,
    maxParallel: stored.maxParallel,
    onFailure: stored.onFailure,
    totalMs: stored.totalMs,
    scheduleId: stored.scheduleId,
    output: stored.output,
    labels: stored.labels,
    runAt: stored.runAt,
    createdAt: stored.createdAt,
    options: row.options,
    state: row.state,
    run: row.run,
    taskCount: row.taskCount,
    stopping: row.stopping,
    error: row.error,
    startedAt: row.startedAt,
    finishedAt: row.finishedAt,
  };
}

function isSameBeside(stored: JobRow, row: JobRow): boolean {
  return (
    stored.no === row.no &&
    stored.id === row.id &&
    stored.name === row.name &&
    stored.priority === row.priority &&
    stored.idempotencyKey === row.idempotencyKey &&
    stored.maxParallel === row.maxParallel &&
    stored.onFailure === row.onFailure &&
    stored.totalMs === row.totalMs &&
    stored.scheduleId === row.scheduleId &&
    stored.output === row.output &&
    (stored.labels === row.labels || (stored.labels.length === 0 && row.labels.length === 0)) &&
    stored.runAt === row.runAt &&
    stored.createdAt === row.createdAt
  );
}

/** No job has this id. */
const UNKNOWN = '' as JobId;

const NOTHING: Omit<JobRow, keyof ChangedJob> = {
  ...{ id: UNKNOWN, name: '', priority: 2, idempotencyKey: null, maxParallel: null },
  ...{ onFailure: 'finish', totalMs: null, scheduleId: null, output: null, labels: [] },
  ...{ runAt: null, createdAt: instant(0) },
};

/** An image that may be laid over the row of the job, and says nothing by itself. */
export function jobOfChange(change: ChangedJob): JobRow {
  return { ...NOTHING, ...change };
}

/** Whether more than the changes is known of the job. */
export function isWholeJob({ id }: JobRow): boolean {
  return id !== UNKNOWN;
}
