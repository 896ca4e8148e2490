/** Jobs and their tasks as people see them. */
import {
  ANY_SIGNAL,
  awaitedEvent,
  KEEPS,
  PRIORITIES,
  TASK_STATES,
  instant,
  isId,
  readLabel,
  readStarter,
} from '../../../scheduler/core/index.ts';
import type { StartedBy, TaskError, TaskId, TaskState } from '../../../scheduler/core/index.ts';
import type { Job as WireJob, JobTask, ListJobsRequest } from '../gen/millrace/v1/job.ts';
import { JobState as WireJobState, TaskState as WireState } from '../gen/millrace/v1/types.ts';
import type {
  StartedBy as WireStartedBy,
  TaskError as WireError,
} from '../gen/millrace/v1/types.ts';
import { JsonText } from '../../../scheduler/contract/index.ts';
import type {
  JobSummary,
  JobsQuery,
  PastRun,
  ReadJob,
  ReadResult,
  TaskShape,
} from '../../../scheduler/contract/index.ts';
import { fromWireJobState, toWireJobState } from './change.ts';
import {
  fromWireTime,
  fromWireTimeOrNone,
  jsonBytes,
  jsonText,
  optionalText,
  parsedJson,
  refuse,
  requiredText,
  soughtText,
  safeNumber,
  wireCount,
  wireNumber,
  toWireTime,
  toWireTimeOrNone,
} from './values.ts';

const WIRE_STATE: Readonly<Record<TaskState, WireState>> = {
  blocked: WireState.TASK_STATE_BLOCKED,
  ready: WireState.TASK_STATE_QUEUED,
  delayed: WireState.TASK_STATE_DELAYED,
  running: WireState.TASK_STATE_RUNNING,
  succeeded: WireState.TASK_STATE_SUCCEEDED,
  failed: WireState.TASK_STATE_FAILED,
  cancelled: WireState.TASK_STATE_CANCELLED,
  skipped: WireState.TASK_STATE_SKIPPED,
};
const STATE_AT: ReadonlyMap<WireState, TaskState> = new Map(
  TASK_STATES.map((state) => [WIRE_STATE[state], state]),
);

export function toWireState(state: TaskState): WireState {
  return WIRE_STATE[state];
}

export function fromWireState(state: WireState): TaskState {
  return STATE_AT.get(state) ?? refuse('state', `${state} is not a valid state.`);
}

export function toWireError(error: TaskError | null): WireError | undefined {
  return error === null ? undefined : { code: error.code, message: error.message };
}

export function fromWireError(error: WireError | undefined): TaskError | null {
  return error === undefined ? null : { code: error.code, message: error.message };
}

export function toWireSummary(job: JobSummary<Date>): WireJob {
  return {
    id: job.id,
    name: job.name,
    state: toWireJobState(job.state),
    run: wireCount(job.run, 'run'),
    priority: job.priority,
    taskCount: wireCount(job.taskCount, 'task_count'),
    idempotencyKey: job.idempotencyKey ?? '',
    scheduleId: job.scheduleId ?? '',
    labels: { ...job.labels },
    runAtMs: toWireTimeOrNone(job.runAt, 'run_at_ms'),
    traceId: job.trace ?? '',
    keep: job.keep,
    waitsFor: [...(job.waitsFor ?? [])],
    startedBy: toWireStartedBy(job.startedBy),
    scheduledAtMs: toWireTimeOrNone(job.scheduledAt, 'scheduled_at_ms'),
    error: toWireError(job.error),
    createdAtMs: toWireTime(job.createdAt, 'created_at_ms'),
    startedAtMs: toWireTimeOrNone(job.startedAt, 'started_at_ms'),
    finishedAtMs: toWireTimeOrNone(job.finishedAt, 'finished_at_ms'),
    tasks: [],
    no: wireNumber(job.no, 'no'),
    history: [],
    resultOmitted: false,
  };
}

export function fromWireSummary(job: WireJob): JobSummary<Date> {
  return {
    id: requiredText(job.id, 'id'),
    no: safeNumber(job.no, 'no'),
    name: job.name,
    state: fromWireJobState(job.state, 'state'),
    run: job.run,
    priority:
      PRIORITIES[job.priority] ?? refuse('priority', `${job.priority} is not a valid priority.`),
    taskCount: job.taskCount,
    idempotencyKey: optionalText(job.idempotencyKey),
    scheduleId: optionalText(job.scheduleId),
    labels: { ...job.labels },
    runAt: fromWireTimeOrNone(job.runAtMs, 'run_at_ms'),
    trace: optionalText(job.traceId),
    // A server of an earlier version keeps everything.
    keep: KEEPS.find((keep) => keep === job.keep) ?? 'all',
    startedBy: fromWireStartedBy(job.startedBy),
    scheduledAt: fromWireTimeOrNone(job.scheduledAtMs, 'scheduled_at_ms'),
    error: fromWireError(job.error),
    createdAt: fromWireTime(job.createdAtMs, 'created_at_ms'),
    startedAt: fromWireTimeOrNone(job.startedAtMs, 'started_at_ms'),
    finishedAt: fromWireTimeOrNone(job.finishedAtMs, 'finished_at_ms'),
    ...(job.waitsFor.length === 0 ? {} : { waitsFor: job.waitsFor }),
  };
}

export function toWireStartedBy(by: StartedBy | null): WireStartedBy | undefined {
  if (by === null) return undefined;
  if ('event' in by) return { job: '', task: '', event: by.event, eventId: by.id };
  return { job: by.job, task: by.task, event: '', eventId: '' };
}

export function fromWireStartedBy(by: WireStartedBy | undefined): StartedBy | null {
  if (by === undefined) return null;
  if (by.event !== '') return { event: by.event, id: by.eventId };
  return {
    job: requiredText(by.job, 'started_by/job'),
    task: requiredText(by.task, 'started_by/task'),
  };
}

export function toWireJob(job: ReadJob): WireJob {
  const wire = toWireSummary(job);
  if (job.result !== null) wire.resultJson = resultBytes(job.result);
  wire.resultOmitted = job.isResultOmitted === true;
  for (const task of job.tasks) wire.tasks.push(toWireTask(task));
  for (const run of job.history) wire.history.push(toWirePastRun(run));
  return wire;
}

export function fromWireJob(job: WireJob): ReadJob {
  const tasks: TaskShape<ReadResult, Date>[] = [];
  for (const task of job.tasks) tasks.push(fromWireTask(task));
  const history: PastRun<Date>[] = [];
  for (const run of job.history) history.push(fromWirePastRun(run));
  return {
    ...fromWireSummary(job),
    result: fromWireResult(job.resultJson),
    ...(job.resultOmitted ? { isResultOmitted: true as const } : {}),
    tasks,
    history,
  };
}

function resultBytes(result: ReadResult): Buffer {
  return jsonBytes(result instanceof JsonText ? result.text : JSON.stringify(result));
}

/** Parsed only to see that it is JSON: it is passed on as text. */
function fromWireResult(bytes: Buffer | undefined): ReadResult {
  if (bytes === undefined) return null;
  const field = 'result_json';
  const text = jsonText(bytes, field);
  parsedJson(text, field);
  return new JsonText(text);
}

function toWirePastRun(task: PastRun<Date>): JobTask {
  return {
    id: task.id,
    state: WIRE_STATE[task.state],
    run: wireCount(task.run, 'run'),
    attempt: wireCount(task.attempt, 'attempt'),
    node: task.node ?? '',
    executor: '',
    dependsOn: [],
    parent: '',
    progress: 0,
    error: toWireError(task.error),
    waiting: '',
    queuedAtMs: 0n,
    resultOmitted: false,
    startedAtMs: toWireTimeOrNone(task.startedAt, 'started_at_ms'),
    finishedAtMs: toWireTimeOrNone(task.finishedAt, 'finished_at_ms'),
  };
}

function fromWirePastRun(task: JobTask): PastRun<Date> {
  return {
    id: requiredText(task.id, 'id'),
    state: fromWireState(task.state),
    run: task.run,
    attempt: task.attempt,
    node: optionalText(task.node),
    error: fromWireError(task.error),
    startedAt: fromWireTimeOrNone(task.startedAtMs, 'started_at_ms'),
    finishedAt: fromWireTimeOrNone(task.finishedAtMs, 'finished_at_ms'),
  };
}

function toWireTask(task: TaskShape<ReadResult, Date>): JobTask {
  const { result } = task;
  return {
    ...toWirePastRun(task),
    executor: task.executor,
    dependsOn: [...task.dependsOn],
    parent: task.parent ?? '',
    progress: task.progress,
    ...(result === null ? {} : { resultJson: resultBytes(result) }),
    resultOmitted: task.isResultOmitted === true,
    waiting: task.waiting ?? '',
    queuedAtMs: toWireTimeOrNone(task.queuedAt, 'queued_at_ms'),
  };
}

function fromWireTask(task: JobTask): TaskShape<ReadResult, Date> {
  return {
    ...fromWirePastRun(task),
    executor: task.executor,
    dependsOn: task.dependsOn as TaskId[],
    parent: optionalText(task.parent),
    progress: task.progress,
    result: fromWireResult(task.resultJson),
    ...(task.resultOmitted ? { isResultOmitted: true as const } : {}),
    waiting: optionalText(task.waiting),
    queuedAt: fromWireTimeOrNone(task.queuedAtMs, 'queued_at_ms'),
  };
}

export function toWireJobsQuery(query: JobsQuery): ListJobsRequest {
  const { state, name, labels = [], since, until, limit, cursor } = query;
  const { waitingFor = '', schedule = '', startedBy = '' } = query;
  return {
    ...{ waitingFor, schedule, startedBy },
    sinceMs: wireNumber(since ?? 0, 'since_ms'),
    untilMs: wireNumber(until ?? 0, 'until_ms'),
    state: state === undefined ? WireJobState.JOB_STATE_UNSPECIFIED : toWireJobState(state),
    name: name ?? '',
    labels: [...labels],
    limit: wireCount(limit, 'limit'),
    cursor: cursor ?? '',
  };
}

/** For a caller that names no limit, or one that is too high. */
const JOBS_LIMIT = 100;
const JOBS_LIMIT_MAX = 1_000;

export function fromWireJobsQuery(request: ListJobsRequest): JobsQuery {
  const { state, name, labels, waitingFor, schedule, startedBy, limit, cursor } = request;
  const since = fromWireTimeOrNone(request.sinceMs, 'since_ms');
  const until = fromWireTimeOrNone(request.untilMs, 'until_ms');
  return {
    limit: limit === 0 ? JOBS_LIMIT : Math.min(limit, JOBS_LIMIT_MAX),
    ...(state === WireJobState.JOB_STATE_UNSPECIFIED
      ? {}
      : { state: fromWireJobState(state, 'state') }),
    ...(name === '' ? {} : { name: soughtText(name, 'name') }),
    ...(labels.length === 0 ? {} : { labels: labels.map((label) => readLabel(label, 'labels')) }),
    ...(waitingFor === '' ? {} : { waitingFor: soughtSignal(waitingFor) }),
    ...(schedule === '' ? {} : { schedule: soughtText(schedule, 'schedule') }),
    ...(startedBy === '' ? {} : { startedBy: readStarter(startedBy, 'started_by') }),
    ...(since === null ? {} : { since: instant(since.getTime()) }),
    ...(until === null ? {} : { until: instant(until.getTime()) }),
    ...(cursor === '' ? {} : { cursor: soughtText(cursor, 'cursor') }),
  };
}

function soughtSignal(name: string): string {
  return name === ANY_SIGNAL || isId(awaitedEvent(name) ?? name)
    ? name
    : refuse('waiting_for', 'It is not a valid signal name.');
}
