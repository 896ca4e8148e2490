/** A job comes into being: all of it in one transaction, or none. */
import type { JobDocument, LimitFigures, TaskDocument, TaskOptions } from '../document/document.ts';
import { decodeJobOptions, encodeJobOptions } from '../document/job-options.ts';
import type { StartedBy, WrittenOptions } from '../document/job-options.ts';
import { labelsOf } from '../document/labels.ts';
import { momentText } from '../document/moment.ts';
import { encodeOptions } from '../document/options.ts';
import { MillraceError } from '../errors.ts';
import type { Reject, Seed, Submit } from '../event.ts';
import { fragmentNo } from '../fragment.ts';
import { later, jobNo, taskNo } from '../ids.ts';
import type { Instant, JobId, ScheduleId, TaskNo } from '../ids.ts';
import { Edges, encodeDependencies } from '../job/edges.ts';
import { Job, jobRow } from '../job/job.ts';
import { keyScope } from '../job/execution-key.ts';
import { JobOutputs } from '../job/outputs.ts';
import type { Limit } from '../queue/limit.ts';
import type { JobRow, TaskSpecRow } from '../rows.ts';
import type { SchedulerState } from '../state.ts';
import type { Slot } from '../task/table.ts';
import type { StepContext } from '../step-context.ts';
import { fullBatch, inBatch } from './batch.ts';
import { type Start, startOf } from './debounce.ts';
import { UNKNOWN_KEY, claimKey, nameKey } from './keys.ts';
import type { KeyInStore } from './keys.ts';
import { logKind, makeReady } from './lifecycle.ts';
import { makeWay } from './singleton.ts';

export function submit(context: StepContext, event: Submit): void {
  const found = findOrCreate(context, event);
  if (found instanceof MillraceError) return context.refuse(event.ask, found);
  context.replyJob(event.ask, found.job, found.isNew);
}

/** The job that stands for this submission, or why there is none. */
export function findOrCreate(
  context: StepContext,
  submission: Omit<Submit, 'type' | 'ask'>,
): { readonly job: Job; readonly isNew: boolean } | MillraceError {
  const { state } = context;
  const { jobId, document, inboxNo } = submission;
  const existing =
    state.jobsById.get(jobId) ??
    (document.idempotencyKey === null ? undefined : state.jobsByKey.get(document.idempotencyKey)) ??
    makeWay(context, jobId, document);
  if (existing instanceof MillraceError) return existing;
  if (inboxNo !== undefined) context.effects.deleteInbox(inboxNo);
  if (existing !== null) return { job: existing, isNew: false };
  return { job: createJob(context, jobId, document, submission), isNew: true };
}

/** Where a job comes from, beyond its document. */
export interface Origin extends Pick<
  Submit,
  'seeds' | 'completedKeys' | 'pendingKeys' | 'startedBy'
> {
  readonly scheduleId?: ScheduleId;
}

export function createJob(
  context: StepContext,
  id: JobId,
  given: JobDocument,
  origin: Origin,
): Job {
  const { state } = context;
  const batched = inBatch(context, id, given);
  const document = batched?.document ?? given;
  const start = batched?.start ?? startOf(context, id, document);
  const written = optionsOf(context.state, document, start, origin);
  const row = newRow(context, id, document, start, origin, written.text);
  const job = new Job(row, written);
  state.addJob(job, document.tasks[0]?.executor ?? '');
  context.came(job);
  if (document.tasks.some((task) => task.dependsOn.length > 0)) {
    job.edges = new Edges(document.tasks.map((task) => task.dependsOn));
  }
  for (const task of document.tasks) addTask(state, job, task, keyInStore(task, origin));
  job.trim();
  for (const slot of job.slots) state.tasks.opened(slot);
  context.effects.insertJob(row);
  context.logJob('job.created', job, createdDetail(job));
  for (let no = 0; no < document.tasks.length; no += 1) {
    insertTask(context, job.slots[no] as Slot, document.tasks[no] as TaskDocument);
  }
  if (origin.seeds !== undefined) {
    for (const [no, seed] of origin.seeds) plant(context, job, no, seed);
  }
  // Before its time has come: those that join the batch wait for it.
  if (batched !== null) claimKey(context, job.slots[0] as Slot);
  for (let no = 0; no < document.tasks.length; no += 1) {
    const slot = job.slots[no] as Slot;
    const isFirst = document.tasks[no]?.dependsOn.length === 0;
    if (isFirst && state.tasks.state(slot) === 'blocked') makeReady(context, slot);
    if (context.effects.lacksRow(job.no, taskNo(no))) context.writeTask(slot);
  }
  armTotals(context, job);
  if (batched !== null) startIfFull(context, job);
  return job;
}

function startIfFull(context: StepContext, job: Job): void {
  const first = fullBatch(context.state, job);
  const slot = first?.slots[0];
  if (first === null || slot === undefined || first.isFull) return;
  first.isFull = true;
  makeReady(context, slot);
}

function optionsOf(
  { newOptions }: SchedulerState,
  { options }: JobDocument,
  { firstAt, batchOf = null }: Start,
  { scheduleId, startedBy }: Origin,
): WrittenOptions {
  // The runs of a schedule have nothing to do with whoever has made it.
  const isOwn = scheduleId === undefined || options.trace === null;
  const given = isOwn ? options : { ...options, trace: null };
  return newOptions.of(given, { firstAt, batchOf, startedBy: startedBy ?? null });
}

function newRow(
  context: StepContext,
  id: JobId,
  document: JobDocument,
  start: Start,
  origin: Origin,
  options: string | null,
): JobRow {
  const { runAt } = start;
  const scheduleId = origin.scheduleId ?? null;
  const no = context.state.nextJobNo;
  context.state.nextJobNo = jobNo(no + 1);
  const { name, priority, idempotencyKey, maxParallel, onFailure, totalMs, output } = document;
  const { labels } = document;
  return {
    no,
    id,
    name,
    priority,
    idempotencyKey,
    maxParallel,
    onFailure,
    totalMs,
    scheduleId,
    output,
    labels,
    runAt,
    options,
    createdAt: context.now,
    state: 'queued',
    run: 1,
    taskCount: document.tasks.length,
    stopping: null,
    error: null,
    startedAt: null,
    finishedAt: null,
  };
}

/** What its submitter said of the job, for whoever follows the log. */
function createdDetail({ labels, runAt }: Job): Readonly<Record<string, unknown>> | undefined {
  if (labels.length === 0 && runAt === null) return undefined;
  return {
    ...(labels.length === 0 ? {} : { labels: labelsOf(labels) }),
    ...(runAt === null ? {} : { runAt: momentText(runAt) }),
  };
}

/** What the submitter found out about the task's execution key. */
export function keyInStore(
  { executor, idempotencyKey }: TaskDocument,
  { completedKeys, pendingKeys }: Pick<Submit, 'completedKeys' | 'pendingKeys'>,
): KeyInStore {
  if (idempotencyKey === null) return UNKNOWN_KEY;
  const scope = keyScope(executor, idempotencyKey);
  return {
    completed: completedKeys?.has(scope) ?? false,
    owner: pendingKeys?.get(scope) ?? null,
  };
}

function limitsFor(state: SchedulerState, job: Job, options: TaskOptions): readonly Limit[] {
  const { concurrency, limits } = options;
  if (concurrency === null && limits.length === 0) return NO_LIMITS;
  return limitsOf(options).map((figures) => state.queue.limitFor(figures, job.no));
}

const NO_LIMITS: readonly Limit[] = [];

/** What the task names as its limits; a concurrency key is one of them. */
function limitsOf({ concurrency, limits }: TaskOptions): readonly LimitFigures[] {
  if (concurrency === null) return limits;
  return [{ key: concurrency.key, max: concurrency.limit, perMs: null }, ...limits];
}

/** Into memory only; the task is blocked with all its dependencies unmet, and not yet counted as
 * open: that is done when its parent is sure to be there. */
export function addTask(
  state: SchedulerState,
  job: Job,
  task: TaskDocument,
  keyInStore: KeyInStore = UNKNOWN_KEY,
): Slot {
  const { placement } = task.options;
  const slot = state.tasks.add({
    job,
    no: taskNo(job.slots.length),
    id: task.id,
    priority: task.priority,
    parent: task.parent,
    isAwaited: task.parent !== null && task.dependsOn.length === 0,
    isAdded: task.isAdded ?? false,
    requirement: state.matching.require(task.executor, placement),
    options: task.options,
    limits: limitsFor(state, job, task.options),
    key:
      task.idempotencyKey === null
        ? null
        : nameKey(state, task.executor, task.idempotencyKey, keyInStore),
  });
  if (task.options.output !== undefined) {
    job.outputs ??= new JobOutputs(job);
    const stage = fragmentNo(task.id)?.stage;
    // What may come out differently has one attempt at a time.
    if (stage !== undefined && task.options.output === 'deterministic')
      job.outputs.addToStage(stage, slot);
  }
  state.tasks.unmet.set(slot, task.dependsOn.length);
  if (job.slots.length === 0) job.slots = [slot];
  else job.slots.push(slot);
  return slot;
}

/** What does not change of a task that was just added. Its row is to be written, too. */
export function insertTask(context: StepContext, slot: Slot, task: TaskDocument): void {
  const { tasks, settings } = context.state;
  const spec: TaskSpecRow = {
    jobNo: tasks.job(slot).no,
    taskNo: tasks.no(slot),
    id: task.id,
    executor: task.executor,
    priority: task.priority,
    parentNo: task.parent,
    dependsOn: encodeDependencies(task.dependsOn),
    idempotencyKey: task.idempotencyKey,
    options: encodeOptions(task.options, settings, task.isAdded),
    input: task.input,
  };
  tasks.setSince(slot, context.now);
  context.effects.insertTask(spec);
  context.logTask('created', slot);
}

/** A task of a fork starts its life ended, with the result it had in the other job. One that is done when
 * the job is admitted has its result already, and waits. */
function plant(context: StepContext, job: Job, no: TaskNo, seed: Seed): void {
  const { tasks } = context.state;
  const slot = job.slot(no);
  if (slot === null) return;
  const run = tasks.run.get(slot);
  if (seed.result !== null) {
    context.effects.result({ jobNo: job.no, taskNo: no, run, body: seed.result });
  }
  if (tasks.options(slot).admission !== undefined) return;
  tasks.restoreState(slot, seed.state);
  context.writeTask(slot, context.now);
  context.logTask(logKind(seed.state), slot, null, { fromFork: true });
  context.ended.push(slot);
}

/** Waiting for a time that the submitter chose does not count. */
function beginning({ runAt }: Job, since: Instant): Instant {
  return runAt === null || runAt < since ? since : runAt;
}

function jobDueAt(job: Job, totalMs: number): Instant {
  return later(beginning(job, job.runSince), totalMs);
}

function taskDueAt({ tasks }: SchedulerState, slot: Slot, totalMs: number): Instant {
  return later(beginning(tasks.job(slot), tasks.since(slot)), totalMs);
}

/** Whether the timer of a total timeout is from before its job was put off. */
export function isPutOff(state: SchedulerState, job: Job, slot: Slot | null, at: Instant): boolean {
  if (job.options.runAt === null) return false;
  if (slot === null) return job.totalMs !== null && at < jobDueAt(job, job.totalMs);
  const { totalMs } = state.tasks.options(slot).timeouts;
  return totalMs !== null && at < taskDueAt(state, slot, totalMs);
}

/** Timeouts that span all attempts. */
export function armTotals(context: StepContext, job: Job): void {
  const { timers } = context.state;
  if (job.totalMs !== null) {
    timers.arm({
      type: 'jobTimeout',
      at: jobDueAt(job, job.totalMs),
      jobNo: job.no,
      run: job.run,
    });
  }
  for (const slot of job.slots) armTaskTotal(context, slot);
}

export function armTaskTotal(context: StepContext, slot: Slot): void {
  const { timers, tasks } = context.state;
  const { totalMs } = tasks.options(slot).timeouts;
  if (totalMs === null) return;
  const job = tasks.job(slot);
  timers.arm({
    type: 'taskTimeout',
    at: taskDueAt(context.state, slot, totalMs),
    jobNo: job.no,
    taskNo: tasks.no(slot),
    run: tasks.run.get(slot),
  });
}

/** A document from the inbox that is not valid: stored as a failed job without tasks. */
export function reject(context: StepContext, event: Reject): void {
  context.effects.deleteInbox(event.inboxNo);
  context.replyJob(event.ask, createFailed(context, event), true);
}

/** A job without tasks that has failed before it began, so that the reason can be seen. */
export function createFailed(
  context: StepContext,
  about: Pick<Reject, 'jobId' | 'name' | 'error'> & { readonly startedBy?: StartedBy },
): Job {
  const no = context.state.nextJobNo;
  context.state.nextJobNo = jobNo(no + 1);
  const job = new Job({
    no,
    id: about.jobId,
    name: about.name,
    priority: 2,
    idempotencyKey: null,
    maxParallel: null,
    onFailure: 'finish',
    totalMs: null,
    scheduleId: null,
    output: null,
    labels: [],
    runAt: null,
    options:
      about.startedBy === undefined
        ? null
        : encodeJobOptions({ ...decodeJobOptions(null), startedBy: about.startedBy }),
    createdAt: context.now,
    state: 'failed',
    run: 1,
    taskCount: 0,
    stopping: null,
    error: about.error,
    startedAt: null,
    finishedAt: context.now,
  });
  context.effects.insertJob(jobRow(job));
  context.logJob('job.created', job);
  context.logJob('job.failed', job, { ...about.error });
  return job;
}
