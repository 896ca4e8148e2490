/** A finished job, or a dead task, runs again as a new generation. History stays. */
import { MillraceError, stillLoading } from '../errors.ts';
import type { Cancel, Rerun } from '../event.ts';
import { endOf, isMet } from '../job/ending.ts';
import type { Job } from '../job/job.ts';
import { isFinished, isTerminal } from '../task/chart.ts';
import type { TaskState } from '../task/chart.ts';
import type { SchedulerState } from '../state.ts';
import type { Slot } from '../task/table.ts';
import type { StepContext } from '../step-context.ts';
import { finish, makeReady, waitAgain } from './lifecycle.ts';
import { newRun } from './new-run.ts';
import { remake } from './outputs.ts';
import { because, dropJob } from './settle.ts';
import { singletonConflict } from './singleton.ts';
import { stopJob } from './stop.ts';
import { armTotals } from './submit.ts';

export function cancel(context: StepContext, event: Cancel): void {
  const job = context.state.jobsById.get(event.jobId);
  if (job === undefined) return context.refuse(event.ask, unknownJob(event.jobId));
  // One that ended while it was being loaded has ended: the call came too late.
  if (job.open === 0) dropJob(context.state, job);
  if (job.open === 0 || job.stopping !== null) return context.replyJob(event.ask, job, false);
  // Only the memory would know that they are to end with it, and the next leader would not.
  if (hasCalledUnknown(context.state, job))
    return context.refuse(event.ask, stillLoading('one of which this job has called'));
  stopJob(context, job, 'cancel', { code: 'cancelled', message: event.reason });
  context.replyJob(event.ask, job, true);
}

/** A job that it waits for may be on its way into memory. */
function hasCalledUnknown({ isComplete, tasks, jobsById }: SchedulerState, job: Job): boolean {
  if (isComplete) return false;
  return job.slots.some(
    (slot) => tasks.waits(slot)?.jobs.some(({ jobId }) => !jobsById.has(jobId)) === true,
  );
}

/** The job is in memory: a live one, or a finished one that was loaded for this. */
export function rerun(context: StepContext, event: Rerun): void {
  const job = context.state.jobsById.get(event.jobId);
  if (job === undefined) return context.refuse(event.ask, unknownJob(event.jobId));
  const asked = choose(context, job, event);
  const isAgain = !(asked instanceof MillraceError) && asked.length > 0;
  const chosen = (isAgain ? singletonConflict(context, job) : null) ?? asked;
  if (!(chosen instanceof MillraceError) && chosen.length > 0) {
    restart(context, job, chosen, event.seeds);
    context.state.claimSingleton(job);
    return context.replyJob(event.ask, job, true);
  }
  if (chosen instanceof MillraceError) context.refuse(event.ask, chosen);
  else context.replyJob(event.ask, job, false);
  // Loaded in vain.
  if (job.open === 0) dropJob(context.state, job);
}

function choose(context: StepContext, job: Job, event: Rerun): readonly Slot[] | MillraceError {
  const { tasks } = context.state;
  if (event.expectedRun !== undefined && event.expectedRun !== job.run) return [];
  if (job.stopping !== null)
    return conflict('The job is being cancelled.', 'Wait until it has ended.');
  const unsuccessful = job.slots.filter(
    (slot) => isUnsuccessful(tasks.state(slot)) && !isSettledAbove(context, job, slot),
  );
  // The store copies the row it has to the history: one that is not written yet cannot be kept.
  if (
    unsuccessful.some((slot) => context.effects.touches({ jobNo: job.no, taskNo: tasks.no(slot) }))
  ) {
    return conflict('The job has just ended.', 'Try again in a moment.');
  }
  if (event.taskId === undefined) {
    if (job.state === 'succeeded') return conflict('The job has succeeded.', 'Fork it instead.');
    if (!isFinished(job.state)) return [];
    return withGates(context, job, unsuccessful, event);
  }
  const no = job.taskNo(event.taskId, tasks);
  const slot = no === null ? null : job.slot(no);
  if (slot === null) return unknownJob(`${job.id}/${event.taskId}`);
  if (tasks.state(slot) !== 'failed') return [];
  return withGates(context, job, withDependents(context, job, slot), event);
}

/** A job that has ended has released its admission: it must be admitted again. */
function withGates(
  context: StepContext,
  job: Job,
  chosen: readonly Slot[],
  event: Rerun,
): readonly Slot[] | MillraceError {
  const { tasks } = context.state;
  const all = new Set(chosen);
  for (const slot of job.slots) {
    if (tasks.options(slot).admission === undefined) continue;
    if (isFinished(job.state)) all.add(slot);
    if (all.has(slot) && event.seeds?.has(tasks.no(slot)) !== true) {
      return conflict('The original input of the job is not available.', 'Submit it again.');
    }
  }
  return [...all];
}

/** The task, those of its children that made it fail, and everything that was skipped or cancelled
 * because of it, however far down. */
function withDependents(context: StepContext, job: Job, slot: Slot): readonly Slot[] {
  const { tasks } = context.state;
  const chosen = new Set<Slot>([slot, ...unsuccessfulChildren(context, slot)]);
  for (const each of chosen) {
    job.edges?.eachDependent(tasks.no(each), (no) => {
      const dependent = job.slot(no);
      if (dependent === null) return;
      const state = tasks.state(dependent);
      if (state === 'skipped' || state === 'cancelled') chosen.add(dependent);
    });
  }
  return [...chosen];
}

/** All that it added and that did not succeed, and what these added. */
function unsuccessfulChildren(context: StepContext, slot: Slot): readonly Slot[] {
  const { tasks } = context.state;
  return tasks
    .children(slot)
    .filter((each) => isUnsuccessful(tasks.state(each)))
    .flatMap((each) => [each, ...unsuccessfulChildren(context, each)]);
}

function restart(
  context: StepContext,
  job: Job,
  chosen: readonly Slot[],
  seeds: Rerun['seeds'],
): void {
  const { tasks } = context.state;
  if (isFinished(job.state)) {
    job.run += 1;
    job.state = 'queued';
    job.runSince = context.now;
  }
  job.finishedAt = null;
  job.startedAt = job.state === 'queued' ? null : job.startedAt;
  job.error = null;
  context.writeJob(job);
  context.logJob('job.rerun', job, { tasks: chosen.length });
  for (const slot of chosen) {
    newRun(context, slot);
    giveAgain(context, slot, seeds);
  }
  const inVain = countUnmet(context, job, new Set(chosen));
  armTotals(context, job);
  for (const [slot, cause] of inVain) {
    if (tasks.state(slot) === 'blocked') finish(context, slot, 'skipped', because(context, cause));
  }
  // Nodes drop the outputs of ended jobs, so no node retains any of this one.
  remake(context, job);
  for (const slot of chosen) {
    if (tasks.state(slot) === 'blocked' && tasks.unmet.get(slot) === 0) makeReady(context, slot);
  }
}

/** A result that was given with the job is given with each run of it. */
function giveAgain(context: StepContext, slot: Slot, seeds: Rerun['seeds']): void {
  const { tasks } = context.state;
  const taskNo = tasks.no(slot);
  const body = seeds?.get(taskNo)?.result ?? null;
  if (body === null || tasks.options(slot).admission === undefined) return;
  context.effects.result({ jobNo: tasks.job(slot).no, taskNo, run: tasks.run.get(slot), body });
}

/** Counts what each new run waits for; answers those whose wait would be in vain, each with the cause. */
function countUnmet(
  context: StepContext,
  job: Job,
  chosen: ReadonlySet<Slot>,
): readonly (readonly [Slot, Slot])[] {
  const { tasks } = context.state;
  const inVain: (readonly [Slot, Slot])[] = [];
  for (const slot of job.slots) {
    const state = tasks.state(slot);
    if (state === 'succeeded') continue;
    const end = endOf(state, tasks.error(slot));
    job.edges?.eachDependent(tasks.no(slot), (no, required) => {
      const dependent = job.slot(no);
      if (dependent === null) return;
      if (!chosen.has(dependent))
        return chosen.has(slot) ? waitAgain(context, dependent) : undefined;
      if (!isTerminal(state)) tasks.unmet.set(dependent, tasks.unmet.get(dependent) + 1);
      else if (!isMet(required, end)) inVain.push([dependent, slot]);
    });
  }
  return inVain;
}

/** The task that added it has succeeded without it. */
function isSettledAbove(context: StepContext, job: Job, slot: Slot): boolean {
  const { tasks } = context.state;
  const no = tasks.isAdded(slot) ? tasks.parent(slot) : null;
  const above = no === null ? null : job.slot(no);
  return above !== null && tasks.state(above) === 'succeeded';
}

function isUnsuccessful(state: TaskState): boolean {
  return isTerminal(state) && state !== 'succeeded';
}

function unknownJob(id: string): MillraceError {
  return new MillraceError({ code: 'not_found', what: `There is no ${id}.` });
}

function conflict(what: string, todo: string): MillraceError {
  return new MillraceError({ code: 'conflict', what, todo });
}
