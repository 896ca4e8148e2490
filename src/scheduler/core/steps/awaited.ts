/** Who waits for what: the books behind `wait.ts`, without any move of a task. */
import type { JobId } from '../ids.ts';
import { eventWaitsIn } from '../job/event-index.ts';
import { awaitedEvent, takenAtStep } from '../job/waits.ts';
import type { AwaitedSignal, AwaitedThings } from '../job/waits.ts';
import type { Job } from '../job/job.ts';
import type { TaskError } from '../rows.ts';
import type { SchedulerState } from '../state.ts';
import type { Slot } from '../task/table.ts';
import type { StepContext } from '../step-context.ts';

/** What happened is written down under the step's name; the first one written stays. */
export function writeStep(context: StepContext, slot: Slot, name: string, value: object): void {
  const { tasks } = context.state;
  const [jobNo, taskNo, run] = [tasks.job(slot).no, tasks.no(slot), tasks.run.get(slot)];
  context.effects.step({ jobNo, taskNo, run, name, body: JSON.stringify(value) });
}

/**
 * When what the task waited for has come. An attempt that was given out in this very moment does not know of it: for later
 * attempts it must come after all that this one has seen, and before the next moment.
 */
export function cameAt({ state, now }: StepContext, slot: Slot): number {
  const since = state.leases.get(slot)?.since;
  return since !== undefined && since >= now ? since + 0.5 : now;
}

/** The oldest untaken signal of that name becomes the step. False if there is none. */
export function takeSignal(
  context: StepContext,
  slot: Slot,
  { step, name }: AwaitedSignal,
): boolean {
  const { tasks } = context.state;
  const job = tasks.job(slot);
  const signalNo = job.signals.take(name);
  if (signalNo === null) return false;
  const [taskNo, run] = [tasks.no(slot), tasks.run.get(slot)];
  context.effects.takeSignal({ jobNo: job.no, signalNo, taskNo, run, step });
  // A handler that is run again must see what has ended in the order in which it did.
  writeStep(context, slot, takenAtStep(step), { at: context.now });
  return true;
}

/** The task waits for these from now on. */
export function awaitThings(state: SchedulerState, slot: Slot, things: AwaitedThings): void {
  const { tasks, callers } = state;
  const job = tasks.job(slot);
  for (const { name } of things.signals) {
    if (awaitedEvent(name) === null) job.signals.listen(name, slot);
  }
  for (const { jobId } of things.jobs) {
    const waiting = callers.get(jobId);
    if (waiting === undefined) callers.set(jobId, new Set([slot]));
    else waiting.add(slot);
  }
  setWaits(state, slot, things);
}

function setWaits(state: SchedulerState, slot: Slot, things: AwaitedThings | null): void {
  state.tasks.setWaits(slot, things);
  state.eventWaits.book(slot, eventWaitsIn(slot, things));
}

/** It is awake: the next signal is for another task. What it has called is still its own, and an event that comes now
 * would not come again. */
export function stopListening(state: SchedulerState, slot: Slot): void {
  const { tasks } = state;
  const waits = tasks.waits(slot);
  if (waits === null || waits.signals.length === 0) return;
  const job = tasks.job(slot);
  const events = waits.signals.filter(({ name }) => awaitedEvent(name) !== null);
  for (const { name } of waits.signals) {
    if (awaitedEvent(name) === null) job.signals.unlisten(name, slot);
  }
  setWaits(state, slot, { signals: [], jobs: waits.jobs, ...(events.length > 0 && { events }) });
}

/** The event has come: the step is there. True if the task slept and has to be woken. */
export function takeEvent(
  context: StepContext,
  slot: Slot,
  { step, name }: AwaitedSignal,
  { id, body }: { readonly id: string; readonly body: string },
): boolean {
  const { state, effects, now } = context;
  const { tasks } = state;
  const job = tasks.job(slot);
  const [taskNo, run] = [tasks.no(slot), tasks.run.get(slot)];
  const no = job.signals.add({ id, name, taken: true });
  effects.signal({ jobNo: job.no, no, id, name, body, sentAt: now, taken: false });
  effects.takeSignal({ jobNo: job.no, signalNo: no, taskNo, run, step });
  writeStep(context, slot, takenAtStep(step), { at: cameAt(context, slot) });
  const waits = tasks.waits(slot) ?? { signals: [], jobs: [] };
  const isAsleep = waits.signals.some((each) => each.step === step);
  const events = waits.events?.map((each) =>
    each.step === step ? { ...each, isTaken: true as const } : each,
  );
  setWaits(state, slot, {
    signals: waits.signals.filter((each) => each.step !== step),
    jobs: waits.jobs,
    ...(events !== undefined && { events }),
  });
  if (!isAsleep) context.writeTask(slot);
  return isAsleep;
}

/** The call has ended. */
export function forgetCall(state: SchedulerState, slot: Slot, jobId: JobId): void {
  const { tasks } = state;
  forgetCaller(state, slot, jobId);
  const waits = tasks.waits(slot);
  if (waits === null) return;
  const jobs = waits.jobs.filter((each) => each.jobId !== jobId);
  setWaits(state, slot, { ...waits, jobs });
}

/** Of a called job that ends because nobody waits for it any more. */
export const ABANDONED: TaskError = {
  code: 'cancelled',
  message: 'the task that called this job has ended',
};

export function isAbandoned({ error }: Job): boolean {
  return error?.code === ABANDONED.code && error.message === ABANDONED.message;
}

function forgetCaller({ callers }: SchedulerState, slot: Slot, jobId: JobId): void {
  const waiting = callers.get(jobId);
  waiting?.delete(slot);
  if (waiting?.size === 0) callers.delete(jobId);
}

/** The task has ended and waits for nothing. The jobs that it called end with it, when the step is settled: nothing
 * else would end them. */
export function dropWaits(context: StepContext, slot: Slot): void {
  const { state } = context;
  stopListening(state, slot);
  for (const { jobId } of state.tasks.waits(slot)?.jobs ?? []) {
    forgetCaller(state, slot, jobId);
    context.abandoned.push(jobId);
  }
  setWaits(state, slot, null);
}
