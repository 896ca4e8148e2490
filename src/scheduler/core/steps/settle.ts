/** What follows from tasks that ended: dependents, parents, and at last their job. */
import { assertNever } from '../errors.ts';
import { dependencyFailed, endOf, isMet } from '../job/ending.ts';
import type { Job } from '../job/job.ts';
import type { TaskError } from '../rows.ts';
import type { SchedulerState } from '../state.ts';
import type { JobState, TaskState } from '../task/chart.ts';
import { isFinished, isTerminal } from '../task/chart.ts';
import type { Slot } from '../task/table.ts';
import type { StepContext } from '../step-context.ts';
import { admit } from './admission.ts';
import { clusterWebhooks, endOfJob, failureOf, startFailureTask, startListeners } from './ends.ts';
import { unnameKey } from './keys.ts';
import { finish, makeReady } from './lifecycle.ts';
import type { Ending } from './lifecycle.ts';
import { armSchedule } from './schedule-timer.ts';
import { orderAbort, stopJob } from './stop.ts';
import { endCall, tellCallers } from './wait.ts';
import { deliverWebhooks } from './webhooks.ts';

/** Runs at the end of every step. A loop, not recursion: a chain may be 100,000 tasks deep. */
export function settle(context: StepContext): void {
  do {
    settleTasks(context);
    const { over } = context;
    context.over = null;
    if (over !== null) for (const job of over) if (!isFinished(job.state)) finishJob(context, job);
    if (context.abandoned.length > 0) {
      for (const jobId of context.abandoned.splice(0)) endCall(context, jobId);
    }
    if (context.state.admissions.isWaited) admit(context);
    // The end of a job may wake its callers, and end the jobs that it called.
  } while (context.ended.length + context.abandoned.length > 0);
}

function settleTasks(context: StepContext): void {
  for (let slot = context.ended.pop(); slot !== undefined; slot = context.ended.pop()) {
    const job = context.state.tasks.job(slot);
    tellDependents(context, job, slot);
    tellParent(context, job, slot);
    stopChildren(context, slot);
    const failed =
      context.state.tasks.state(slot) === 'failed' && !context.state.tasks.isAdded(slot);
    if (failed && job.onFailure === 'cancel' && job.stopping === null && job.open > 0) {
      stopJob(context, job, 'failure', jobError(context.state, slot));
    }
    if (job.open > 0) continue;
    if (context.over === null) context.over = [job];
    else context.over.push(job);
  }
}

function tellDependents(context: StepContext, job: Job, slot: Slot): void {
  const { tasks } = context.state;
  const end = endOf(tasks.state(slot), tasks.error(slot));
  job.edges?.eachDependent(tasks.no(slot), (no, required) => {
    const dependent = job.slot(no);
    if (dependent === null) return;
    if (tasks.state(dependent) !== 'blocked' || tasks.suspended(dependent) !== null) {
      if (job.outputs !== null) meetLate(context, dependent);
      return;
    }
    if (!isMet(required, end)) return finish(context, dependent, 'skipped', because(context, slot));
    meet(context, dependent);
  });
}

/** Why a task is skipped that depends on this one. */
export function because(context: StepContext, slot: Slot): Ending {
  const { tasks } = context.state;
  const [id, state, error] = [tasks.id(slot), tasks.state(slot), tasks.error(slot)];
  const detail = { because: id, its: state };
  if (endOf(state, error) !== 'failed') return { detail };
  return { error: dependencyFailed(id, state, error), detail };
}

/** A parent that waits for its children comes back when the last one has ended. */
function tellParent(context: StepContext, job: Job, slot: Slot): void {
  const { tasks } = context.state;
  const no = tasks.parent(slot);
  const parent = no === null ? null : job.slot(no);
  if (parent === null || tasks.state(parent) !== 'blocked') return;
  if (tasks.suspended(parent) !== 'children') return;
  if (tasks.openChildren(parent) === 0) makeReady(context, parent);
}

/** What a task has added to the job is of no use without it. */
function stopChildren(context: StepContext, slot: Slot): void {
  const { tasks, leases } = context.state;
  for (const child of tasks.children(slot)) {
    if (!tasks.isAdded(child) || isTerminal(tasks.state(child))) continue;
    const lease = leases.get(child);
    if (lease === undefined) finish(context, child, 'cancelled');
    else orderAbort(context, lease, 'cancel');
  }
}

function meet(context: StepContext, slot: Slot): void {
  const { unmet } = context.state.tasks;
  unmet.set(slot, unmet.get(slot) - 1);
  if (unmet.get(slot) === 0) makeReady(context, slot);
}

/** It began before its input was recomputed: it does not wait for that, but counts it. */
function meetLate({ state: { tasks } }: StepContext, slot: Slot): void {
  if (isTerminal(tasks.state(slot))) return;
  tasks.unmet.set(slot, Math.max(0, tasks.unmet.get(slot) - 1));
}

function finishJob(context: StepContext, job: Job): void {
  const { state } = context;
  const firstFailed = firstIn(state, job, 'failed');
  job.state = outcome(state, job, firstFailed !== undefined);
  job.finishedAt = context.now;
  job.stopping = null;
  if (job.error === null && firstFailed !== undefined) job.error = jobError(state, firstFailed);
  context.writeJob(job);
  context.logJob(jobEnd(job.state), job, endDetail(job));
  const end = endOfJob(state, job, firstFailed);
  const failure = failureOf(state, job, firstFailed);
  dropJob(state, job);
  tellCallers(context, job);
  if (job.options.webhooks.length > 0) deliverWebhooks(context, job);
  clusterWebhooks(context, job);
  if (failure !== null) startFailureTask(context, job, failure);
  if (end !== null) startListeners(context, job, end);
  const schedule = job.scheduleId === null ? undefined : state.schedules.get(job.scheduleId);
  // With overlap policy `queue` the next occurrence waits for this moment.
  if (schedule?.isWaiting === true) armSchedule(context, schedule);
}

const UNTAKEN_SHOWN = 10;

function endDetail({
  error,
  untakenSignals: untaken,
}: Job): Readonly<Record<string, unknown>> | undefined {
  if (error === null && untaken.length === 0) return undefined;
  return {
    ...error,
    // Signals that were sent and will never be taken.
    ...(untaken.length === 0 ? {} : { untakenSignals: untaken.slice(0, UNTAKEN_SHOWN) }),
  };
}

/** A task that was added by another counts through that one, which may have made the best of it. */
function firstIn({ tasks }: SchedulerState, { slots }: Job, end: TaskState): Slot | undefined {
  for (const slot of slots) if (tasks.state(slot) === end && !tasks.isAdded(slot)) return slot;
  return undefined;
}

function outcome(state: SchedulerState, job: Job, someFailed: boolean): JobState {
  switch (job.stopping) {
    case 'cancel':
      return 'cancelled';
    case 'timeout':
    case 'failure':
      return 'failed';
    case null:
      if (someFailed) return 'failed';
      // Left from an earlier stop: one dead task was redriven, the others were not.
      return firstIn(state, job, 'cancelled') === undefined ? 'succeeded' : 'cancelled';
    default:
      return assertNever(job.stopping);
  }
}

function jobEnd(state: JobState): 'job.cancelled' | 'job.failed' | 'job.succeeded' {
  if (state === 'cancelled') return 'job.cancelled';
  return state === 'failed' ? 'job.failed' : 'job.succeeded';
}

function jobError(state: SchedulerState, slot: Slot): TaskError {
  const error = state.tasks.error(slot);
  const message = `task ${state.tasks.id(slot)} failed: ${error?.message ?? 'no message'}`;
  return { code: 'task_failed', message };
}

/** The job leaves the memory; the store has everything. */
export function dropJob(state: SchedulerState, job: Job): void {
  const { tasks } = state;
  for (const slot of job.slots) {
    if (!isTerminal(tasks.state(slot))) continue;
    state.matching.release(tasks.requirement(slot));
    const key = tasks.key(slot);
    if (key !== null) unnameKey(state, key);
    for (const limit of tasks.limits(slot)) state.queue.dropLimit(limit);
    tasks.free(slot);
  }
  job.outputs?.clear();
  state.admissions.leave(job);
  state.leftWhileReading?.add(job.no);
  state.endedWhileReading?.set(job.id, job.state);
  state.removeJob(job);
}
