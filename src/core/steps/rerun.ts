/** A finished job, or a dead task, runs again as a new generation. History stays. */
import { MillraceError } from '../errors.ts';
import type { Cancel, Rerun } from '../event.ts';
import type { Job } from '../job/job.ts';
import { isFinished, isTerminal } from '../task/chart.ts';
import type { TaskState } from '../task/chart.ts';
import type { Slot } from '../task/table.ts';
import type { Turn } from '../turn.ts';
import { finish, makeReady } from './lifecycle.ts';
import { dropJob } from './settle.ts';
import { stopJob } from './stop.ts';
import { armTotals } from './submit.ts';

export function cancel(turn: Turn, event: Cancel): void {
  const job = turn.state.jobsById.get(event.jobId);
  if (job === undefined) return turn.refuse(event.ask, unknownJob(event.jobId));
  // One that ended while it was being read back is over: the call came too late.
  if (job.open === 0) dropJob(turn.state, job);
  if (job.open === 0 || job.stopping !== null) return turn.replyJob(event.ask, job, false);
  stopJob(turn, job, 'cancel', { code: 'cancelled', message: event.reason });
  turn.replyJob(event.ask, job, true);
}

/** The job is in memory: a live one, or a finished one that was read back for this. */
export function rerun(turn: Turn, event: Rerun): void {
  const job = turn.state.jobsById.get(event.jobId);
  if (job === undefined) return turn.refuse(event.ask, unknownJob(event.jobId));
  const chosen = choose(turn, job, event);
  if (!(chosen instanceof MillraceError) && chosen.length > 0) {
    restart(turn, job, chosen);
    return turn.replyJob(event.ask, job, true);
  }
  if (chosen instanceof MillraceError) turn.refuse(event.ask, chosen);
  else turn.replyJob(event.ask, job, false);
  // Read back for nothing.
  if (job.open === 0) dropJob(turn.state, job);
}

function choose(turn: Turn, job: Job, event: Rerun): readonly Slot[] | MillraceError {
  const { tasks } = turn.state;
  if (event.expectedRun !== undefined && event.expectedRun !== job.run) return [];
  if (job.stopping !== null) return conflict('The job is being stopped.', 'Wait until it has.');
  const unsuccessful = job.slots.filter(
    (slot) => isUnsuccessful(tasks.state(slot)) && !isSettledAbove(turn, job, slot),
  );
  // The store copies the row it has to the history: one that is not written yet cannot be kept.
  if (
    unsuccessful.some((slot) => turn.effects.touches({ jobNo: job.no, taskNo: tasks.no(slot) }))
  ) {
    return conflict('The job has just ended.', 'Try again in a moment.');
  }
  if (event.taskId === undefined) {
    if (job.state === 'succeeded') return conflict('The job has succeeded.', 'Fork it instead.');
    return isFinished(job.state) ? unsuccessful : [];
  }
  const no = job.taskNo(event.taskId, tasks);
  const slot = no === null ? null : job.slot(no);
  if (slot === null) return unknownJob(`${job.id}/${event.taskId}`);
  if (tasks.state(slot) !== 'failed') return [];
  return withDependents(turn, job, slot);
}

/** The task, those of its children that made it fail, and everything that was skipped or cancelled
 * because of it, however far down. */
function withDependents(turn: Turn, job: Job, slot: Slot): readonly Slot[] {
  const { tasks } = turn.state;
  const chosen = new Set<Slot>([slot, ...unsuccessfulChildren(turn, slot)]);
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
function unsuccessfulChildren(turn: Turn, slot: Slot): readonly Slot[] {
  const { tasks } = turn.state;
  return tasks
    .children(slot)
    .filter((each) => isUnsuccessful(tasks.state(each)))
    .flatMap((each) => [each, ...unsuccessfulChildren(turn, each)]);
}

function restart(turn: Turn, job: Job, chosen: readonly Slot[]): void {
  const { tasks } = turn.state;
  if (isFinished(job.state)) {
    job.run += 1;
    job.state = 'queued';
    job.runSince = turn.now;
  }
  job.finishedAt = null;
  job.startedAt = job.state === 'queued' ? null : job.startedAt;
  job.error = null;
  turn.writeJob(job);
  turn.log('job.rerun', { job }, { tasks: chosen.length });
  for (const slot of chosen) newRun(turn, slot);
  const inVain = countUnmet(turn, job, new Set(chosen));
  armTotals(turn, job);
  for (const slot of inVain) {
    if (tasks.state(slot) === 'blocked') finish(turn, slot, 'skipped');
  }
  for (const slot of chosen) {
    if (tasks.state(slot) === 'blocked' && tasks.unmet.get(slot) === 0) makeReady(turn, slot);
  }
}

/** A new generation of the task: blocked, nothing counted yet, the old row kept in the history. */
export function newRun(turn: Turn, slot: Slot): void {
  const { tasks } = turn.state;
  turn.effects.archive({ jobNo: tasks.job(slot).no, taskNo: tasks.no(slot) });
  tasks.run.set(slot, tasks.run.get(slot) + 1);
  const { attempt, failures, losses, progress, queuedAt, startedAt, unmet } = tasks;
  for (const column of [attempt, failures, losses, progress, queuedAt, startedAt, unmet]) {
    column.set(slot, 0);
  }
  tasks.setError(slot, null);
  tasks.setSince(slot, turn.now);
  tasks.move(slot, 'blocked');
  turn.writeTask(slot);
  turn.log('created', { slot });
}

/** Counts what each new run waits for; answers those whose wait would be in vain. */
function countUnmet(turn: Turn, job: Job, chosen: ReadonlySet<Slot>): readonly Slot[] {
  const { tasks } = turn.state;
  const inVain: Slot[] = [];
  for (const slot of job.slots) {
    const state = tasks.state(slot);
    if (state === 'succeeded') continue;
    job.edges?.eachDependent(tasks.no(slot), (no, required) => {
      const dependent = job.slot(no);
      if (dependent === null) return;
      if (!chosen.has(dependent)) return chosen.has(slot) ? waitAgain(turn, dependent) : undefined;
      if (!isTerminal(state)) tasks.unmet.set(dependent, tasks.unmet.get(dependent) + 1);
      else if (required) inVain.push(dependent);
    });
  }
  return inVain;
}

/** An optional dependency that had ended is open again: one that has not begun waits for it. */
function waitAgain(turn: Turn, slot: Slot): void {
  const { tasks } = turn.state;
  if (tasks.state(slot) !== 'blocked' || tasks.suspended(slot) !== null) return;
  tasks.key(slot)?.waiters.delete(slot);
  tasks.unmet.set(slot, tasks.unmet.get(slot) + 1);
}

/** The task that added it has succeeded without it. */
function isSettledAbove(turn: Turn, job: Job, slot: Slot): boolean {
  const { tasks } = turn.state;
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
