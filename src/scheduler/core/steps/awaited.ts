/** Who waits for what: the books behind `wait.ts`, without any move of a task. */
import type { JobId } from '../ids.ts';
import { takenAtStep } from '../job/waits.ts';
import type { AwaitedSignal, AwaitedThings } from '../job/waits.ts';
import type { SchedulerState } from '../state.ts';
import type { Slot } from '../task/table.ts';
import type { StepContext } from '../step-context.ts';

/** What happened is written down under the step's name; the first one written stays. */
export function writeStep(context: StepContext, slot: Slot, name: string, value: object): void {
  const { tasks } = context.state;
  const [jobNo, taskNo, run] = [tasks.job(slot).no, tasks.no(slot), tasks.run.get(slot)];
  context.effects.step({ jobNo, taskNo, run, name, body: JSON.stringify(value) });
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
  for (const { name } of things.signals) job.signals.listen(name, slot);
  for (const { jobId } of things.jobs) {
    const waiting = callers.get(jobId);
    if (waiting === undefined) callers.set(jobId, new Set([slot]));
    else waiting.add(slot);
  }
  tasks.setWaits(slot, things);
}

/** It is awake: the next signal is for another task. What it has called is still its own. */
export function stopListening({ tasks }: SchedulerState, slot: Slot): void {
  const waits = tasks.waits(slot);
  if (waits === null || waits.signals.length === 0) return;
  const job = tasks.job(slot);
  for (const { name } of waits.signals) job.signals.unlisten(name, slot);
  tasks.setWaits(slot, { signals: [], jobs: waits.jobs });
}

/** The call has ended. */
export function forgetCall(state: SchedulerState, slot: Slot, jobId: JobId): void {
  const { tasks } = state;
  forgetCaller(state, slot, jobId);
  const waits = tasks.waits(slot);
  if (waits === null) return;
  const jobs = waits.jobs.filter((each) => each.jobId !== jobId);
  tasks.setWaits(slot, { signals: waits.signals, jobs });
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
  state.tasks.setWaits(slot, null);
}
