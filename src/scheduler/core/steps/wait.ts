/**
 * Waiting without a slot: for a time, for a signal, for the end of a job that the task has called.
 * The first that comes makes the task ready again. All of it leaves a step, written in the
 * transaction in which it happened, so the handler that is run again finds it.
 */
import type { AnswerCall, ChildJob, SubmittedJob, Wait } from '../event.ts';
import type { StartedBy } from '../document/job-options.ts';
import type { Instant, JobId } from '../ids.ts';
import { later } from '../ids.ts';
import { keyScope } from '../job/execution-key.ts';
import type { Job } from '../job/job.ts';
import { EVENT_END_STEP, EVENT_STEP, awaitedEvent } from '../job/waits.ts';
import type { AwaitedJob, AwaitedSignal } from '../job/waits.ts';
import type { Suspension, TaskError } from '../rows.ts';
import type { SchedulerState } from '../state.ts';
import { isFinished } from '../task/chart.ts';
import type { JobState } from '../task/chart.ts';
import type { Lease } from '../task/lease.ts';
import type { Slot } from '../task/table.ts';
import type { StepContext } from '../step-context.ts';
import {
  ABANDONED,
  awaitThings,
  cameAt,
  forgetCall,
  stopListening,
  takeSignal,
  writeStep,
} from './awaited.ts';
import { keysAbove } from './keys.ts';
import { armWake, delay, makeReady } from './lifecycle.ts';
import { asCalled } from './singleton.ts';
import { stopJob } from './stop.ts';
import { createFailed, createJob } from './submit.ts';

/** Why the task cannot wait like this; null if it can. */
export function waitFault(context: StepContext, lease: Lease, wait: Wait): TaskError | null {
  const { sleeps, signals, jobs } = wait;
  if (sleeps.length + signals.length + jobs.length === 0) return fault('it waits for nothing');
  const held = keysAbove(context.state, jobs.length === 0 ? [] : [lease.slot]);
  for (const { jobId, document } of jobs) {
    // A called job ends with its caller: it must not belong to another one.
    if (!jobId.startsWith(`${lease.job.id}.`)) {
      return fault(`the id ${jobId} of a called job does not begin with the id of its caller`);
    }
    for (const { id, executor, idempotencyKey } of document?.tasks ?? []) {
      if (idempotencyKey === null || !held.has(keyScope(executor, idempotencyKey))) continue;
      return fault(`task ${id} of ${jobId} would wait for a key that its caller holds`);
    }
  }
  return null;
}

function fault(message: string): TaskError {
  return { code: 'bad_wait', message };
}

/** Of several things, the one that says most. */
export function waitsFor({ signals, jobs }: Wait): Suspension {
  if (jobs.length > 0) return 'job';
  if (signals.length > 0) return 'signal';
  return 'time';
}

/** Call it without a lease. */
export function beginWait(context: StepContext, slot: Slot, wait: Wait): void {
  const { state } = context;
  const { tasks } = state;
  tasks.setSuspended(slot, waitsFor(wait));
  const wakeAt = beginSleeps(context, slot, wait.sleeps);
  const signals = beginSignals(context, slot, wait.signals);
  const events = beginEvents(context, slot, wait);
  const jobs = beginJobs(context, slot, wait.jobs);
  const isTime = wakeAt !== null && wakeAt <= context.now;
  const isOver = isTime || signals.isOver || events.isOver || jobs.isOver;
  awaitThings(
    state,
    slot,
    isOver
      ? {
          signals: [],
          jobs: jobs.awaited,
          ...(events.awaited.length > 0 && { events: events.awaited }),
        }
      : { signals: [...signals.awaited, ...events.awaited], jobs: jobs.awaited },
  );
  if (isOver) makeReady(context, slot);
  else if (wakeAt !== null) delay(context, slot, wakeAt);
  else {
    tasks.move(slot, 'blocked');
    context.writeTask(slot);
  }
  // Last, for a job may end at once: its caller must be waiting by then.
  for (const { jobId, document, ...origin } of jobs.fresh) {
    if (document === null) continue;
    createJob(context, jobId, asCalled(document), { ...origin, startedBy: taskAt(state, slot) });
  }
}

/** Returns when the first of them ends. */
function beginSleeps(context: StepContext, slot: Slot, sleeps: Wait['sleeps']): Instant | null {
  let first: Instant | null = null;
  for (const { step, forMs } of sleeps) {
    const until = later(context.now, Math.max(0, forMs));
    writeStep(context, slot, step, { until });
    if (first === null || until < first) first = until;
  }
  return first;
}

interface Begun<T> {
  readonly isOver: boolean;
  readonly awaited: readonly T[];
}

function beginSignals(
  context: StepContext,
  slot: Slot,
  signals: Wait['signals'],
): Begun<AwaitedSignal> {
  // One step takes one signal, however often it is named.
  const wanted = new Map(
    signals.flatMap((each) =>
      awaitedEvent(each.name) === null ? [[each.step, each] as const] : [],
    ),
  );
  const awaited = [...wanted.values()].filter((each) => !takeSignal(context, slot, each));
  return { isOver: awaited.length < wanted.size, awaited };
}

/** Only what is sent from now on counts, or since the task has waited for the same before. */
function beginEvents(
  context: StepContext,
  slot: Slot,
  { signals, sleeps }: Wait,
): Begun<AwaitedSignal> {
  const wanted = new Map(
    signals.flatMap((each) =>
      awaitedEvent(each.name) === null ? [] : [[each.step, each] as const],
    ),
  );
  if (wanted.size === 0) return NOTHING_BEGUN;
  const before = new Map(
    context.state.tasks.waits(slot)?.events?.map((each) => [each.step, each] as const),
  );
  const awaited: AwaitedSignal[] = [];
  for (const each of wanted.values()) {
    const known = before.get(each.step);
    if (known?.isTaken === true) continue;
    const end = sleeps.find(({ step }) => isEndOf(step, each.step));
    const until = end === undefined ? undefined : later(context.now, Math.max(0, end.forMs));
    // The first one counts: by that the handler knows whether its time was over.
    const first = known?.until ?? until;
    awaited.push({ ...each, ...(first === undefined ? {} : { until: first }) });
  }
  return { isOver: awaited.length < wanted.size, awaited };
}

const NOTHING_BEGUN: Begun<never> = { isOver: false, awaited: [] };

/** Events that did not fit a schema have left steps of their own; the end of the wait stays: see `nthSignalStep`. */
function isEndOf(end: string, step: string): boolean {
  if (!end.startsWith(EVENT_END_STEP)) return false;
  const name = step.slice(EVENT_STEP.length);
  const as = end.slice(EVENT_END_STEP.length);
  return as === name || as === name.replace(/#\d{1,9}$/, '');
}

interface Calls extends Begun<AwaitedJob> {
  /** Not there yet. */
  readonly fresh: readonly ChildJob[];
}

function beginJobs(context: StepContext, slot: Slot, children: Wait['jobs']): Calls {
  const { state } = context;
  // What it has called before and does not name now is its own all the same.
  const called = new Map(state.tasks.waits(slot)?.jobs.map((each) => [each.jobId, each]));
  const fresh: ChildJob[] = [];
  let isOver = false;
  for (const child of children) {
    const { step, jobId } = child;
    const known = stateOf(state, child);
    if (known !== null && isFinished(known)) {
      writeStep(context, slot, step, { jobId, state: known, at: context.now });
      forgetCall(state, slot, jobId);
      called.delete(jobId);
      isOver = true;
    } else {
      // One that was called before may still be on its way into memory.
      const isExpected = called.has(jobId) && !state.isComplete;
      // One wait may name it twice, and then it is made once.
      const isMade = fresh.some((each) => each.jobId === jobId);
      if (known === null && !isExpected && !isMade) fresh.push(child);
      called.set(jobId, { step, jobId });
    }
  }
  return { isOver, awaited: [...called.values()], fresh };
}

/** The memory knows best, then what it has noted since the store was asked. */
export function stateOf(
  state: SchedulerState,
  { jobId, ended }: Pick<ChildJob, 'jobId' | 'ended'>,
): JobState | null {
  return state.jobsById.get(jobId)?.state ?? state.endedWhileReading?.get(jobId) ?? ended;
}

/** The task submits the job, unless it is there, and goes on. The job neither ends with it nor is it awaited. */
export function submitFrom(context: StepContext, lease: Lease, submitted: SubmittedJob): void {
  const { jobId, document, ended: _, ...keys } = submitted;
  if (stateOf(context.state, submitted) !== null) return;
  const startedBy = taskAt(context.state, lease.slot);
  createJob(context, jobId, asCalled(document), { ...keys, startedBy });
}

function taskAt({ tasks }: SchedulerState, slot: Slot): StartedBy {
  return { job: tasks.job(slot).id, task: tasks.id(slot) };
}

/** Something that the task waited for has come, or its backoff has passed. */
export function wake(context: StepContext, slot: Slot): void {
  stopListening(context.state, slot);
  makeReady(context, slot);
}

/** A job has ended: its callers get the result. */
export function tellCallers(context: StepContext, { id: jobId, state }: Job): void {
  const { tasks, callers } = context.state;
  for (const slot of [...(callers.get(jobId) ?? [])]) {
    for (const each of tasks.waits(slot)?.jobs ?? []) {
      if (each.jobId !== jobId) continue;
      writeStep(context, slot, each.step, { jobId, state, at: cameAt(context, slot) });
    }
    forgetCall(context.state, slot, jobId);
    if (waitsForJobs(context.state, slot)) wake(context, slot);
    else context.writeTask(slot);
  }
}

/** A task that runs again meanwhile, or waits for its children, finds the step when it looks. */
function waitsForJobs({ tasks }: SchedulerState, slot: Slot): boolean {
  const state = tasks.state(slot);
  return tasks.suspended(slot) === 'job' && (state === 'blocked' || state === 'delayed');
}

/** The called job exists now, or cannot be created. */
export function answerCall(context: StepContext, event: AnswerCall): void {
  const { state } = context;
  const { jobId, made, ask } = event;
  context.effects.reply(ask, { type: 'done' });
  const [caller] = state.callers.get(jobId) ?? [];
  if (caller === undefined || state.jobsById.has(jobId)) return;
  if (made.error !== null) return tellCallers(context, createFailed(context, { jobId, ...made }));
  const startedBy = taskAt(state, caller);
  createJob(context, jobId, asCalled(made.document), { ...event, startedBy });
}

/** Its caller has ended, so it does. */
export function endCall(context: StepContext, jobId: JobId): void {
  const { state } = context;
  const job = state.jobsById.get(jobId);
  if (state.callers.has(jobId)) return;
  if (job === undefined) {
    if (!state.isComplete) state.orphans.add(jobId);
  } else if (job.stopping === null && job.open > 0) stopJob(context, job, 'cancel', ABANDONED);
}

/** Every live job is in memory now. A called job that is not in memory has ended meanwhile: its caller is woken
 * without a step, asks again and gets the result. */
export function wakeUnanswered(context: StepContext): void {
  const { state } = context;
  state.orphans.clear();
  for (const [jobId, slots] of state.callers) {
    if (state.jobsById.has(jobId)) continue;
    for (const slot of slots) if (waitsForJobs(state, slot)) armWake(context, slot, context.now);
  }
}
