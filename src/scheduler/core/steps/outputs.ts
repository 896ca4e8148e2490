/**
 * Outputs that lie on nodes. What a task has made is gone with the session that keeps it, or when a reader
 * does not find it. One place decides what that means, whatever the cause: `remake` looks at a whole job and
 * begins a new run of each task whose output is gone and still needed.
 */
import type { LostOutput } from '../event.ts';
import { later } from '../ids.ts';
import type { Job } from '../job/job.ts';
import type { JobOutputs } from '../job/outputs.ts';
import type { Node } from '../node/node.ts';
import type { TaskError } from '../rows.ts';
import { isFinished, isTerminal } from '../task/chart.ts';
import type { Lease } from '../task/lease.ts';
import type { Slot } from '../task/table.ts';
import type { StepContext } from '../step-context.ts';
import { TIMED_OUT, backoffMs, cancelled, failAttempt } from './attempt.ts';
import { endDuplicate, isDuplicate } from './duplicates.ts';
import { delay, endLease, finish, isDecision, makeReady, waitAgain } from './lifecycle.ts';
import { newRun } from './new-run.ts';
import { settle } from './settle.ts';
import { orderAgain } from './stop.ts';
import { armTaskTotal } from './submit.ts';

/** The session has ended, and with it what it retained. */
export function loseOutputs(context: StepContext, node: Node): void {
  if (node.outputJobs.size === 0) return;
  // Ends in this step have to be known: a job that has ended needs nothing any more.
  settle(context);
  for (const job of [...node.outputJobs]) {
    job.outputs?.loseFrom(node);
    remake(context, job);
  }
}

/**
 * A reader did not find its input. If the input is still current, it is recomputed, together with everything that the
 * same session retains of this job: a session that lost one output has most likely lost them all. The reader waits
 * for it. This counts like the loss of a node, since a faulty reader, or an unreachable node, would otherwise cause
 * it for ever.
 */
export function inputLost(
  context: StepContext,
  lease: Lease,
  lost: readonly LostOutput[],
  error: TaskError,
): void {
  const { tasks } = context.state;
  const { slot, job, node } = lease;
  // The original reads the same, and will say so if it is true.
  if (isDuplicate(context.state, lease)) return endDuplicate(context, lease, { ...error });
  for (const each of lost) loseNamed(context, lease, each);
  // It still holds its lease, so it counts as one that needs them, and the job cannot end meanwhile.
  const isPutOff = !remake(context, job);
  settle(context);
  if (cancelled(context, lease)) return;
  if (lease.stopping === 'timeout') return failAttempt(context, lease, TIMED_OUT, 'retryable');
  tasks.losses.set(slot, tasks.losses.get(slot) + 1);
  const losses = tasks.losses.get(slot);
  if (losses > tasks.options(slot).retry.maxLosses) {
    const message = `its input was lost ${losses} times; the last time: ${error.message}`;
    return finish(context, slot, 'failed', { error: { code: 'input_lost', message } });
  }
  context.logTask('reassigned', slot, node.id, { ...error });
  endLease(context, lease);
  tasks.setError(slot, error);
  if (losses === 1 && !isPutOff) makeReady(context, slot);
  else delay(context, slot, later(context.now, backoffMs(context.state, slot, losses)));
}

function loseNamed(
  context: StepContext,
  { job, taskNo }: Lease,
  { taskId, fence }: LostOutput,
): void {
  const { tasks } = context.state;
  const { outputs } = job;
  const no = job.taskNo(taskId, tasks);
  const slot = no === null ? null : job.slot(no);
  if (outputs === null || no === null || slot === null) return;
  // Recomputed since, or being recomputed: the reader refers to an outdated output.
  if (tasks.state(slot) !== 'succeeded' || tasks.fence.get(slot) !== fence) return;
  if (tasks.options(slot).output === undefined) return;
  let isRead = false;
  job.edges?.eachDependent(no, (dependent) => {
    if (dependent === taskNo) isRead = true;
  });
  // Only of what it was given to read: the others are not its business.
  if (!isRead) return;
  const keeper = outputs.keeper(slot);
  outputs.lose(slot);
  if (keeper !== null) outputs.loseFrom(keeper);
}

/** Looked at again as soon as time goes on: not everything can be done at once. */
export function armOutputs(context: StepContext, job: Job, inMs: 0 | 1): void {
  context.state.timers.arm({ type: 'outputs', at: later(context.now, inMs), jobNo: job.no });
}

/** Begins a new run of all that has to be recomputed. The step must be settled. False when it is postponed. */
export function remake(context: StepContext, job: Job): boolean {
  const { outputs } = job;
  if (outputs === null || job.stopping !== null || isFinished(job.state)) return true;
  const { again, stopping } = choose(context, job, outputs);
  if (again.size === 0) return true;
  const { tasks } = context.state;
  // The store copies the row it has to the history: one that is not written yet cannot be kept.
  for (const slot of again) {
    if (context.effects.touches({ jobNo: job.no, taskNo: tasks.no(slot) })) {
      armOutputs(context, job, 1);
      return false;
    }
  }
  const doomed: Slot[] = [];
  for (const slot of job.slots) {
    if (!again.has(slot)) continue;
    const isGone = tasks.options(slot).output !== undefined && outputs.keeper(slot) === null;
    const losses = tasks.losses.get(slot) + (isGone ? 1 : 0);
    outputs.forget(slot);
    newRun(context, slot, { kind: 'recomputed', losses, detail: { lost: isGone } });
    armTaskTotal(context, slot);
    if (losses > tasks.options(slot).retry.maxLosses) doomed.push(slot);
  }
  for (const lease of stopping) orderAgain(context, lease);
  countUnmet(context, job, again);
  for (const slot of doomed)
    finish(context, slot, 'failed', { error: lostTooOften(context, slot) });
  for (const slot of job.slots) {
    if (!again.has(slot)) continue;
    if (tasks.state(slot) === 'blocked' && tasks.unmet.get(slot) === 0) makeReady(context, slot);
  }
  return true;
}

interface Choice {
  readonly again: ReadonlySet<Slot>;
  readonly stopping: ReadonlySet<Lease>;
}

/**
 * From the last task to the first, so that a recomputed task asks for what it reads. Tasks come behind their
 * dependencies. If different data may result, the readers of the old data begin again, and these may need outputs
 * that were not needed before: so it is repeated until nothing is added any more.
 */
function choose(context: StepContext, job: Job, outputs: JobOutputs): Choice {
  const { tasks } = context.state;
  const again = new Set<Slot>();
  const stopping = new Set<Lease>();
  const idle = idleTasks(context, job);
  for (let before = -1; before < again.size;) {
    before = again.size;
    for (let at = job.slots.length - 1; at >= 0; at -= 1) {
      const slot = job.slots[at] as Slot;
      const { output } = tasks.options(slot);
      if (output === undefined || again.has(slot) || tasks.state(slot) !== 'succeeded') continue;
      if (idle.has(slot)) continue;
      if (outputs.keeper(slot) !== null || !isNeeded(context, job, slot, again)) continue;
      again.add(slot);
      if (output === 'non-deterministic') rollBack(context, job, slot, again, stopping);
    }
  }
  return { again, stopping };
}

/** Those that ended with a decision, since they had nothing to do: no node has run them, so nothing of them can be lost. */
function idleTasks(context: StepContext, job: Job): ReadonlySet<Slot> {
  const { tasks } = context.state;
  const idle = new Set<Slot>();
  for (const slot of job.slots) {
    if (!isDecision(context.state, slot)) continue;
    job.edges?.eachDependent(tasks.no(slot), (no) => {
      const dependent = job.slot(no);
      if (dependent !== null && tasks.fence.get(dependent) === 0) idle.add(dependent);
    });
  }
  return idle;
}

/** It may still be read. Outputs without dependents are read when the job has ended. */
function isNeeded(context: StepContext, job: Job, slot: Slot, again: ReadonlySet<Slot>): boolean {
  const { tasks } = context.state;
  let dependents = 0;
  let readers = 0;
  job.edges?.eachDependent(tasks.no(slot), (no) => {
    const dependent = job.slot(no);
    if (dependent === null) return;
    dependents += 1;
    if (again.has(dependent) || !isTerminal(tasks.state(dependent))) readers += 1;
  });
  return dependents === 0 || readers > 0;
}

/** Whatever depends on it, however far down, begins again. */
function rollBack(
  context: StepContext,
  job: Job,
  from: Slot,
  again: Set<Slot>,
  stopping: Set<Lease>,
): void {
  const { tasks, leases } = context.state;
  const seen = new Set<Slot>([from]);
  for (const slot of seen) {
    const lease = leases.get(slot);
    if (lease !== undefined) stopping.add(lease);
    else if (tasks.state(slot) === 'succeeded') again.add(slot);
    job.edges?.eachDependent(tasks.no(slot), (no) => {
      const dependent = job.slot(no);
      if (dependent !== null) seen.add(dependent);
    });
  }
}

/** What each new run waits for, and what waits for the new runs. */
function countUnmet(context: StepContext, job: Job, again: ReadonlySet<Slot>): void {
  const { tasks } = context.state;
  for (const slot of job.slots) {
    if (isTerminal(tasks.state(slot))) continue;
    job.edges?.eachDependent(tasks.no(slot), (no) => {
      const dependent = job.slot(no);
      if (dependent === null) return;
      // The others have counted this one all along, unless it has just been opened.
      if (again.has(slot) || again.has(dependent)) waitAgain(context, dependent);
    });
  }
}

function lostTooOften({ state: { tasks } }: StepContext, slot: Slot): TaskError {
  const message =
    `its output was lost ${tasks.losses.get(slot)} times; ` +
    'see the last log lines of the nodes that ran it';
  return { code: 'dead', message };
}
