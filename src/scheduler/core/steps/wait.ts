/**
 * Waiting without a slot: for a time, for a signal, for the end of a job that the task has called.
 * The first that comes makes the task ready again. All of it leaves a step, written in the
 * transaction in which it happened, so the handler that is run again finds it.
 */
import type { AnswerCall, ChildJob, Wait } from '../event.ts';
import type { Instant, JobId } from '../ids.ts';
import { later } from '../ids.ts';
import { keyScope } from '../job/execution-key.ts';
import type { Job } from '../job/job.ts';
import type { AwaitedJob, AwaitedSignal } from '../job/waits.ts';
import type { Suspension, TaskError } from '../rows.ts';
import type { SchedulerState } from '../state.ts';
import { isFinished } from '../task/chart.ts';
import type { JobState } from '../task/chart.ts';
import type { Lease } from '../task/lease.ts';
import type { Slot } from '../task/table.ts';
import type { Turn } from '../turn.ts';
import { awaitThings, forgetCall, stopListening, takeSignal, writeStep } from './awaited.ts';
import { keysAbove } from './keys.ts';
import { armWake, delay, makeReady } from './lifecycle.ts';
import { stopJob } from './stop.ts';
import { createFailed, createJob } from './submit.ts';

/** Why the task cannot wait like this; null if it can. */
export function waitFault(turn: Turn, lease: Lease, wait: Wait): TaskError | null {
  const { sleeps, signals, jobs } = wait;
  if (sleeps.length + signals.length + jobs.length === 0) return fault('it waits for nothing');
  const held = keysAbove(turn.state, jobs.length === 0 ? [] : [lease.slot]);
  for (const { jobId, document } of jobs) {
    // Whatever is called ends with its caller: it must not be anybody else's.
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
export function beginWait(turn: Turn, slot: Slot, wait: Wait): void {
  const { state } = turn;
  const { tasks } = state;
  tasks.setSuspended(slot, waitsFor(wait));
  const wakeAt = beginSleeps(turn, slot, wait.sleeps);
  const signals = beginSignals(turn, slot, wait.signals);
  const jobs = beginJobs(turn, slot, wait.jobs);
  const isOver = (wakeAt !== null && wakeAt <= turn.now) || signals.isOver || jobs.isOver;
  awaitThings(state, slot, { signals: isOver ? [] : signals.awaited, jobs: jobs.awaited });
  if (isOver) makeReady(turn, slot);
  else if (wakeAt !== null) delay(turn, slot, wakeAt);
  else {
    tasks.move(slot, 'blocked');
    turn.writeTask(slot);
  }
  // Last, for a job may end at once: its caller must be waiting by then.
  for (const { jobId, document, ...origin } of jobs.fresh) {
    if (document === null) continue;
    // Its id is what makes it the same one: a key would make it somebody else's.
    createJob(turn, jobId, { ...document, idempotencyKey: null }, origin);
  }
}

/** Answers when the first of them is over. */
function beginSleeps(turn: Turn, slot: Slot, sleeps: Wait['sleeps']): Instant | null {
  let first: Instant | null = null;
  for (const { step, forMs } of sleeps) {
    const until = later(turn.now, Math.max(0, forMs));
    writeStep(turn, slot, step, { until });
    if (first === null || until < first) first = until;
  }
  return first;
}

interface Begun<T> {
  readonly isOver: boolean;
  readonly awaited: readonly T[];
}

function beginSignals(turn: Turn, slot: Slot, signals: Wait['signals']): Begun<AwaitedSignal> {
  // One step takes one signal, however often it is named.
  const wanted = new Map(signals.map((each) => [each.step, each]));
  const awaited = [...wanted.values()].filter((each) => !takeSignal(turn, slot, each));
  return { isOver: awaited.length < wanted.size, awaited };
}

interface Calls extends Begun<AwaitedJob> {
  /** Not there yet. */
  readonly fresh: readonly ChildJob[];
}

function beginJobs(turn: Turn, slot: Slot, children: Wait['jobs']): Calls {
  const { state } = turn;
  // What it has called before and does not name now is its own all the same.
  const called = new Map(state.tasks.waits(slot)?.jobs.map((each) => [each.jobId, each]));
  const fresh: ChildJob[] = [];
  let isOver = false;
  for (const child of children) {
    const { step, jobId } = child;
    const known = stateOf(state, child);
    if (known !== null && isFinished(known)) {
      writeStep(turn, slot, step, { jobId, state: known, at: turn.now });
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
function stateOf(state: SchedulerState, { jobId, ended }: ChildJob): JobState | null {
  return state.jobsById.get(jobId)?.state ?? state.endedWhileReading?.get(jobId) ?? ended;
}

/** Something that the task waited for has come, or its back-off is over. */
export function wake(turn: Turn, slot: Slot): void {
  stopListening(turn.state, slot);
  makeReady(turn, slot);
}

/** A job has ended: those who called it are told. */
export function tellCallers(turn: Turn, { id: jobId, state }: Job): void {
  const { tasks, callers } = turn.state;
  for (const slot of [...(callers.get(jobId) ?? [])]) {
    for (const each of tasks.waits(slot)?.jobs ?? []) {
      if (each.jobId === jobId) writeStep(turn, slot, each.step, { jobId, state, at: turn.now });
    }
    forgetCall(turn.state, slot, jobId);
    if (waitsForJobs(turn.state, slot)) wake(turn, slot);
    else turn.writeTask(slot);
  }
}

/** A task that runs again meanwhile, or waits for its children, finds the step when it looks. */
function waitsForJobs({ tasks }: SchedulerState, slot: Slot): boolean {
  const state = tasks.state(slot);
  return tasks.suspended(slot) === 'job' && (state === 'blocked' || state === 'delayed');
}

/** The job that somebody called and waits for is made, or cannot be. */
export function answerCall(turn: Turn, event: AnswerCall): void {
  const { state } = turn;
  const { jobId, made, ask } = event;
  turn.effects.reply(ask, { type: 'done' });
  if (!state.callers.has(jobId) || state.jobsById.has(jobId)) return;
  if (made.error !== null) return tellCallers(turn, createFailed(turn, { jobId, ...made }));
  createJob(turn, jobId, { ...made.document, idempotencyKey: null }, event);
}

/** Its caller has ended, so it does. */
export function endCall(turn: Turn, jobId: JobId): void {
  const { state } = turn;
  const job = state.jobsById.get(jobId);
  if (state.callers.has(jobId)) return;
  if (job === undefined) {
    if (!state.isComplete) state.orphans.add(jobId);
  } else if (job.stopping === null && job.open > 0) stopJob(turn, job, 'cancel', ABANDONED);
}

const ABANDONED: TaskError = {
  code: 'cancelled',
  message: 'the task that called this job has ended',
};

/**
 * Every live job is in memory now. A call to one that is not there has ended while its caller was
 * not in memory to hear of it: the caller is woken without a step, asks again and is told.
 */
export function wakeUnanswered(turn: Turn): void {
  const { state } = turn;
  state.orphans.clear();
  for (const [jobId, slots] of state.callers) {
    if (state.jobsById.has(jobId)) continue;
    for (const slot of slots) if (waitsForJobs(state, slot)) armWake(turn, slot, turn.now);
  }
}
