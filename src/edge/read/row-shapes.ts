/** Rows become what people see. Numbers of jobs and tasks become their ids. */
import { inPortions } from '../../kit/index.ts';
import {
  decodeJobOptions,
  dependencyNumbers,
  labelsOf,
  priorityOf,
  runAtOf,
  scheduledTime,
  traceIdOf,
} from '../../scheduler/core/index.ts';
import type { Instant, Json, ScheduleRow, TaskId, TaskRow } from '../../scheduler/core/index.ts';
import { JsonText } from '../../scheduler/contract/index.ts';
import type {
  DeadTask,
  EventShape,
  JobSummary,
  LogShape,
  NodeShape,
  PastRun,
  ReadJob,
  ReadResult,
  ScheduleShape,
  TaskShape,
  WorkerFigures,
} from '../../scheduler/contract/index.ts';
import type {
  EventView,
  JobView,
  ListedJob,
  NodeView,
  NumberedLogRow,
  DeadTask as StoredDeadTask,
} from '../../scheduler/store/index.ts';
import { jobResult } from './job-result.ts';

export const dateOf = (at: Instant): Date => new Date(at);
export const dateOrNull = (at: Instant | null): Date | null => (at === null ? null : dateOf(at));

/** Text that the leader wrote; a store gives it back as it was. */
const jsonOf = (text: string | null): Json => (text === null ? null : (JSON.parse(text) as Json));

export function jobSummary(row: ListedJob): JobSummary<Date> {
  const { id, no, name, state, run, taskCount, idempotencyKey, scheduleId, error } = row;
  const { trace, keep, startedBy } = decodeJobOptions(row.options);
  return {
    id,
    no,
    name,
    state,
    run,
    priority: priorityOf(row),
    taskCount,
    idempotencyKey,
    labels: labelsOf(row.labels),
    runAt: dateOrNull(runAtOf(row)),
    trace: trace === null ? null : traceIdOf(trace),
    keep,
    startedBy,
    scheduleId,
    scheduledAt: dateOrNull(scheduledTime(row)),
    error,
    createdAt: dateOf(row.createdAt),
    startedAt: dateOrNull(row.startedAt),
    finishedAt: dateOrNull(row.finishedAt),
    ...(row.waitsFor === undefined ? {} : { waitsFor: row.waitsFor }),
  };
}

/**
 * `waiting` explains why tasks do not run, as far as known. Results that do not fit into `resultCharsMax`
 * characters, together with those before them, are left out; so is a job's result that does not fit by itself.
 */
export async function jobShape(
  view: JobView,
  waiting: ReadonlyMap<TaskId, string>,
  resultCharsMax: number,
): Promise<ReadJob> {
  const shown = resultsUpTo(resultCharsMax);
  const ids = new Map<number, TaskId>(view.tasks.map(({ spec }) => [spec.taskNo, spec.id]));
  /** A task that is not in the view has no name: it is left out. */
  const idsOf = (no: number): TaskId[] => {
    const id = ids.get(no);
    return id === undefined ? [] : [id];
  };
  return {
    ...jobSummary(view.job),
    ...jobResult(view, resultCharsMax),
    tasks: await inPortions(view.tasks, ({ spec, task, result }): TaskShape<ReadResult, Date> => ({
      id: spec.id,
      state: task.state,
      run: task.run,
      attempt: task.attempt,
      node: task.nodeId,
      executor: spec.executor,
      dependsOn: dependencyNumbers(spec.dependsOn).flatMap((no) => idsOf(no)),
      parent: spec.parentNo === null ? null : (ids.get(spec.parentNo) ?? null),
      progress: task.progress,
      ...shown(result),
      error: task.error,
      waiting: waiting.get(spec.id) ?? null,
      queuedAt: dateOrNull(task.queuedAt),
      startedAt: dateOrNull(task.startedAt),
      finishedAt: dateOrNull(task.finishedAt),
    })),
    history: view.history.flatMap((row) => idsOf(row.taskNo).map((id) => pastRun(id, row))),
  };
}

function resultsUpTo(
  charsMax: number,
): (text: string | null) => Pick<TaskShape<ReadResult, Date>, 'result' | 'isResultOmitted'> {
  let chars = 0;
  return (text) => {
    const more = text?.length ?? 0;
    if (chars + more > charsMax) return { result: null, isResultOmitted: true };
    chars += more;
    return { result: text === null ? null : new JsonText(text) };
  };
}

function pastRun(id: TaskId, row: TaskRow): PastRun<Date> {
  return {
    id,
    run: row.run,
    state: row.state,
    attempt: row.attempt,
    node: row.nodeId,
    error: row.error,
    startedAt: dateOrNull(row.startedAt),
    finishedAt: dateOrNull(row.finishedAt),
  };
}

export function deadTask({ jobId, taskId, executor, task }: StoredDeadTask): DeadTask<Date> {
  return {
    job: jobId,
    task: taskId,
    executor,
    attempt: task.attempt,
    node: task.nodeId,
    error: task.error,
    finishedAt: dateOrNull(task.finishedAt),
  };
}

export function nodeShape(node: NodeView, figures: WorkerFigures | null = null): NodeShape<Date> {
  const { id, status, draining, slots, running, executors, address, version } = node;
  return {
    id,
    status,
    draining,
    slots,
    running,
    executors,
    capabilities: JSON.parse(node.capabilities) as Record<string, Json>,
    address,
    version,
    quarantinedUntil: dateOrNull(node.quarantinedUntil),
    registeredAt: dateOf(node.registeredAt),
    seenAt: dateOf(node.seenAt),
    figures,
  };
}

export function scheduleShape({
  id,
  spec,
  paused,
  nextAt,
  ...row
}: ScheduleRow): ScheduleShape<Date> {
  return {
    id,
    spec: jsonOf(spec),
    paused,
    nextAt: dateOrNull(nextAt),
    lastAt: dateOrNull(row.lastAt),
    lastJob: row.lastJobId,
  };
}

export function eventShape(event: EventView): EventShape<Date> {
  const { seq, kind, run, attempt, fence } = event;
  return {
    seq,
    at: dateOf(event.at),
    kind,
    job: event.jobId,
    task: event.taskId,
    node: event.nodeId,
    run,
    attempt,
    fence,
    detail: jsonOf(event.detail),
  };
}

export function logShape(row: NumberedLogRow): LogShape {
  const { seq, at, taskId, attempt, level, message, fields } = row;
  return {
    seq,
    at: new Date(at).toISOString(),
    task: taskId,
    attempt,
    level,
    message,
    // Written by the leader, which has checked it.
    fields: fields === null ? null : (JSON.parse(fields) as LogShape['fields']),
  };
}
