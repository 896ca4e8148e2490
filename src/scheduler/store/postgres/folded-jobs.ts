/**
 * New jobs as a fold copies them into the table, each with its only task if that goes into its row (migration 0024). Null stands
 * for what most jobs have (migration 0030).
 */
import { JOB_STATES, TASK_STATES } from '../../core/index.ts';
import type { Fold } from '../journal/port.ts';
import { type Copy, type CopyColumn, copyOf } from './copy.ts';
import type { FoldedJob } from './table-rows.ts';

const JOB_NUMBERS = numbered(JOB_STATES);
const TASK_NUMBERS = numbered(TASK_STATES);

function numbered<T extends string>(words: readonly T[]): ReadonlyMap<T, number> {
  return new Map(words.map((word, at) => [word, at]));
}

/** Zeros of a task are null there. */
const orNull = (count: number | undefined): number | null => (count ? count : null);

type Of = CopyColumn<FoldedJob>['of'];

const column =
  (type: CopyColumn<FoldedJob>['type']) =>
  (name: string, of: Of): CopyColumn<FoldedJob> => ({ name, type, of });

const smallint = column('smallint');
const integer = column('integer');
const bigint = column('bigint');
const time = column('timestamptz');
const text = column('text');

const JOB: readonly CopyColumn<FoldedJob>[] = [
  bigint('no', ({ job }) => job.no),
  text('id', ({ job }) => job.id),
  text('name', ({ job }) => job.name),
  smallint('priority', ({ job }) => job.priority),
  text('idempotency_key', ({ job }) => job.idempotencyKey),
  integer('max_parallel', ({ job }) => job.maxParallel),
  text('on_failure', ({ job }) => (job.onFailure === 'finish' ? null : job.onFailure)),
  bigint('total_ms', ({ job }) => job.totalMs),
  text('schedule_id', ({ job }) => job.scheduleId),
  text('output', ({ job }) => job.output),
  column('text[]')('labels', ({ job }) => (job.labels.length === 0 ? null : job.labels)),
  time('run_at', ({ job }) => job.runAt),
  text('options', ({ job }) => job.options),
  time('created_at', ({ job }) => job.createdAt),
  smallint('state', ({ job }) => JOB_NUMBERS.get(job.state) ?? null),
  integer('run', ({ job }) => job.run),
  integer('task_count', ({ job }) => job.taskCount),
  text('stopping', ({ job }) => job.stopping),
  text('error_code', ({ job }) => job.error?.code ?? null),
  text('error_message', ({ job }) => job.error?.message ?? null),
  time('started_at', ({ job }) => job.startedAt),
  time('finished_at', ({ job }) => job.finishedAt),
];

const TASK: readonly CopyColumn<FoldedJob>[] = [
  text('task_id', ({ spec }) => spec?.id ?? null),
  text('task_executor', ({ spec }) => spec?.executor ?? null),
  // That of most tasks is that of their job.
  smallint('task_priority', ({ job, spec }) =>
    spec === null || spec.priority === job.priority ? null : spec.priority,
  ),
  text('task_options', ({ spec }) => spec?.options ?? null),
  text('task_input', ({ spec }) => spec?.input ?? null),
  smallint('task_state', ({ task }) => (task ? (TASK_NUMBERS.get(task.state) ?? null) : null)),
  integer('task_attempt', ({ task }) => orNull(task?.attempt)),
  integer('task_failures', ({ task }) => orNull(task?.failures)),
  integer('task_losses', ({ task }) => orNull(task?.losses)),
  bigint('task_fence', ({ task }) => orNull(task?.fence)),
  text('task_term', ({ task }) => task?.term ?? null),
  text('task_node_id', ({ task }) => task?.nodeId ?? null),
  text('task_session_id', ({ task }) => task?.sessionId ?? null),
  text('task_stopping', ({ task }) => task?.stopping ?? null),
  text('task_suspended', ({ task }) => task?.suspended ?? null),
  text('task_waits', ({ task }) => task?.waits ?? null),
  time('task_not_before', ({ task }) => task?.notBefore ?? null),
  column('double precision')('task_progress', ({ task }) => orNull(task?.progress)),
  text('task_error_code', ({ task }) => task?.error?.code ?? null),
  text('task_error_message', ({ task }) => task?.error?.message ?? null),
  time('task_queued_at', ({ task }) => task?.queuedAt ?? null),
  time('task_started_at', ({ task }) => task?.startedAt ?? null),
  text('task_result', ({ result }) => result),
];

/** By id, as their index has them: the ids of a list are `X.9` before `X.10`, and out of order they split its pages. */
const byId = ({ job: a }: FoldedJob, { job: b }: FoldedJob): number => (a.id < b.id ? -1 : 1);

/** Null when there are none. */
export function copyOfJobs(shard: number, fold: Fold, jobs: readonly FoldedJob[]): Copy | null {
  if (jobs.length === 0) return null;
  const { logFrom, batch } = fold;
  const place = [
    smallint('shard', () => shard),
    // The event before those of the new jobs, and the last one of those that have ended.
    bigint('log_from', () => logFrom),
    bigint('log_to', ({ job }) => (job.finishedAt === null ? null : batch.lastSeq)),
  ];
  return copyOf('millrace.job', [...place, ...JOB, ...TASK], jobs.toSorted(byId));
}
