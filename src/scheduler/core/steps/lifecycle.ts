/** The moves of a task, each with its row, its log entry and what else it sets in motion. */
import type { Admission } from '../document/document.ts';
import type { TaskError } from '../rows.ts';
import { DECISION_EXECUTORS } from '../fragment.ts';
import { instant, later } from '../ids.ts';
import type { Instant } from '../ids.ts';
import { invariant } from '../errors.ts';
import type { LogKind } from '../log/kinds.ts';
import { Place } from '../memory/linked-list.ts';
import type { Node } from '../node/node.ts';
import { isTerminal } from '../task/chart.ts';
import type { TerminalState } from '../task/chart.ts';
import type { Lease } from '../task/lease.ts';
import type { Slot } from '../task/table.ts';
import type { SchedulerState } from '../state.ts';
import type { StepContext } from '../step-context.ts';
import { dropWaits } from './awaited.ts';
import { membersOf } from './batch.ts';
import { dropDuplicate, freePlace } from './duplicates.ts';
import { restrictPlacement } from './retry-placement.ts';
import { claimKey, settleKey } from './keys.ts';
import { keepStarts } from './rates.ts';
import { noteTime } from './stragglers.ts';

/** Until all jobs are loaded it is not known which ones are in a batch, or replace each other. */
const LOADING_MS = 100;

/** Nothing but a node stands between the task and its run. Call it without a lease. */
export function makeReady(context: StepContext, slot: Slot): void {
  const { tasks, queue } = context.state;
  // Where what was made may get lost, a dependency that was met can be open again.
  if (tasks.job(slot).outputs !== null && tasks.unmet.get(slot) > 0) return hold(context, slot);
  const { runAt } = tasks.job(slot);
  if (runAt !== null && runAt > context.now && !isDue(context.state, slot))
    return delay(context, slot, runAt);
  const { admission } = tasks.options(slot);
  if (admission !== undefined) {
    endDelay(context, slot);
    return askAdmission(context, slot, admission);
  }
  if (isDecision(context.state, slot)) {
    endDelay(context, slot);
    context.state.undecided.add(slot);
    return;
  }
  const claim = claimKey(context, slot);
  if (claim !== 'ours') endDelay(context, slot);
  if (claim === 'waits') return;
  if (claim === 'completed') {
    context.effects.copyResult({
      jobNo: tasks.job(slot).no,
      taskNo: tasks.no(slot),
      run: tasks.run.get(slot),
      scope: tasks.key(slot)?.scope ?? '',
    });
    return finish(context, slot, 'succeeded', { detail: { fromKey: true } });
  }
  // After its key: one that waits for it stays as it is.
  if (mayBeReplaced(context.state, slot)) return awaitLoading(context, slot);
  if (tasks.job(slot).options.batch !== null && !context.state.isComplete) {
    return delay(context, slot, later(context.now, LOADING_MS));
  }
  restrictPlacement(context.state, slot);
  tasks.move(slot, 'ready');
  tasks.queuedAt.set(slot, context.now);
  context.writeTask(slot);
  context.logTask('queued', slot);
  queue.add(slot);
  armQueueTimeout(context, slot, context.now);
}

/** Whether the leader itself decides what the task answers. */
export function isDecision({ tasks }: SchedulerState, slot: Slot): boolean {
  return DECISION_EXECUTORS.has(tasks.requirement(slot).executor);
}

/** A batch that is full does not wait for its time, and what runs again by itself has none. */
function isDue({ tasks }: SchedulerState, slot: Slot): boolean {
  const { isFull, options } = tasks.job(slot);
  return isFull || (options.batch !== null && tasks.run.get(slot) > 1);
}

/** A debounced job that has not started. While others are still being loaded, one of them may replace it, or may have
 * been replaced by it: then it must not end before that one is there. */
function mayBeReplaced({ tasks, isComplete }: SchedulerState, slot: Slot): boolean {
  if (isComplete) return false;
  const { options, state } = tasks.job(slot);
  return options.debounce !== null && state === 'queued';
}

function awaitLoading(context: StepContext, slot: Slot): void {
  const at = later(context.now, LOADING_MS);
  // It looks again without a row for each time.
  if (context.state.tasks.state(slot) === 'delayed') armWake(context, slot, at);
  else delay(context, slot, at);
}

/** The time of its job has come, but something else is still in its way. */
function endDelay(context: StepContext, slot: Slot): void {
  if (context.state.tasks.state(slot) !== 'delayed') return;
  context.state.tasks.move(slot, 'blocked');
  context.writeTask(slot);
}

/** It waits for its dependencies, even if it had begun: it reads its input again. */
function hold(context: StepContext, slot: Slot): void {
  const { tasks, queue } = context.state;
  const state = tasks.state(slot);
  if (state === 'ready') queue.remove(slot);
  if (state !== 'blocked') tasks.move(slot, 'blocked');
  tasks.setSuspended(slot, null);
  context.writeTask(slot);
  context.logTask('held', slot);
  // Whoever makes what it waits for may need the key that it has.
  for (const next of settleKey(context, slot, 'cancelled', null)) makeReady(context, next);
}

/** A dependency that had ended is open again. One that has not begun waits for it. Where what was made may
 * get lost, all others count it too: they may have to read it again. */
export function waitAgain(context: StepContext, slot: Slot): void {
  const { tasks } = context.state;
  const state = tasks.state(slot);
  const isUnbegun = state === 'blocked' && tasks.suspended(slot) === null;
  if (!isUnbegun && (tasks.job(slot).outputs === null || isTerminal(state))) return;
  tasks.unmet.set(slot, tasks.unmet.get(slot) + 1);
  context.state.undecided.delete(slot);
  if (isUnbegun) tasks.key(slot)?.waiters.delete(slot);
  else if (state === 'ready') hold(context, slot);
}

/** It waits until its job is admitted, which is looked at when the step is settled. */
function askAdmission(context: StepContext, slot: Slot, { memoryBytes }: Admission): void {
  const { tasks, admissions } = context.state;
  admissions.wait(tasks.job(slot), slot, memoryBytes);
  tasks.queuedAt.set(slot, context.now);
  context.writeTask(slot);
  armQueueTimeout(context, slot, context.now);
}

export function armQueueTimeout(context: StepContext, slot: Slot, queuedAt: Instant): void {
  const { tasks, timers } = context.state;
  const { queueMs } = tasks.options(slot).timeouts;
  if (queueMs === null) return;
  timers.arm({
    type: 'queueTimeout',
    at: later(queuedAt, queueMs),
    jobNo: tasks.job(slot).no,
    taskNo: tasks.no(slot),
    stamp: tasks.stamp.get(slot),
  });
}

/** Not before `at`: the time the job is to start, retry back-off or a sleep. Call it without a lease. */
export function delay(context: StepContext, slot: Slot, at: Instant): void {
  const { tasks } = context.state;
  if (tasks.state(slot) !== 'delayed') tasks.move(slot, 'delayed');
  tasks.notBefore.set(slot, at);
  context.writeTask(slot);
  armWake(context, slot);
}

export function armWake(
  context: StepContext,
  slot: Slot,
  at: Instant = instant(context.state.tasks.notBefore.get(slot)),
): void {
  const { tasks, timers } = context.state;
  timers.arm({
    type: 'wake',
    at,
    jobNo: tasks.job(slot).no,
    taskNo: tasks.no(slot),
    stamp: tasks.stamp.get(slot),
  });
}

/** A ready task, already out of line, becomes the node's. The fence grows: older ones are void. */
export function startLease(context: StepContext, node: Node, slot: Slot): Lease {
  const { state } = context;
  const { tasks } = state;
  const job = tasks.job(slot);
  const resumed = tasks.suspended(slot) !== null;
  tasks.move(slot, 'running');
  tasks.fence.set(slot, tasks.nextFence(slot));
  tasks.setTerm(slot, state.term);
  tasks.attempt.set(slot, tasks.failures.get(slot) + tasks.losses.get(slot) + 1);
  const lease: Lease = {
    slot,
    job,
    taskNo: tasks.no(slot),
    fence: tasks.fence.get(slot),
    term: state.term,
    node,
    sessionId: node.sessionId,
    resumed,
    since: context.now,
    startedAt: null,
    stopping: null,
    beginsAgain: false,
    duplicate: 'none',
    ackedByPoll: null,
    namedIn: 0,
    place: new Place(),
  };
  invariant(!state.leases.has(slot), 'a task that is given out has no lease');
  invariant(!state.duplicates.has(slot), 'a task that is given out has no duplicate');
  invariant(
    state.nodes.get(node.id) === node && node.takesWork,
    'work goes to a live session only',
  );
  invariant(node.leases.size < node.capacity, 'a node is given no more than it has room for');
  invariant(!job.atLimit, 'a job at its limit is given no more');
  invariant(state.queue.fullLimit(slot) === null, 'a full limit is given no more');
  tasks.setSuspended(slot, null);
  tasks.startedAt.set(slot, 0);
  state.leases.set(slot, lease);
  node.leases.add(lease);
  state.queue.assigned(slot, resumed ? null : context.now);
  if (!resumed) keepStarts(context, slot);
  state.matching.held(node, tasks.requirement(slot), 1);
  context.writeTask(slot);
  context.logTask('assigned', slot, node.id);
  if (job.state === 'queued') {
    job.state = 'running';
    job.startedAt = context.now;
    context.writeJob(job);
    context.logJob('job.started', job);
  }
  return lease;
}

/** The lease has ended, whatever comes next; its duplicate, if it has one, with it. */
export function endLease(context: StepContext, lease: Lease): void {
  const { state } = context;
  const { slot } = lease;
  invariant(state.leases.get(slot) === lease, 'a lease ends once');
  dropDuplicate(context, slot, 'the first attempt has ended');
  state.leases.delete(slot);
  freePlace(context, lease);
}

export interface Ending {
  readonly error?: TaskError;
  /** JSON text. */
  readonly result?: string | null;
  readonly detail?: Readonly<Record<string, unknown>>;
}

/** The end of a task in this run. Its dependents are updated when the step is settled. */
export function finish(
  context: StepContext,
  slot: Slot,
  to: TerminalState,
  ending: Ending = {},
): void {
  const { tasks, queue, leases } = context.state;
  const lease = leases.get(slot);
  const { output, admission } = tasks.options(slot);
  if (tasks.state(slot) === 'ready') queue.remove(slot);
  if (lease !== undefined) endLease(context, lease);
  context.state.undecided.delete(slot);
  if (admission !== undefined && to !== 'succeeded')
    context.state.admissions.leave(tasks.job(slot));
  if (output !== undefined && to === 'succeeded' && lease !== undefined) {
    tasks.job(slot).outputs?.keep(slot, lease.node);
  }
  tasks.move(slot, to);
  if (to === 'succeeded') noteTime(context, slot, lease);
  tasks.setSuspended(slot, null);
  dropWaits(context, slot);
  tasks.setError(slot, ending.error ?? null);
  if (to === 'succeeded') tasks.progress.set(slot, 1);
  const result = ending.result ?? null;
  if (result !== null) {
    const [jobNo, taskNo, run] = [tasks.job(slot).no, tasks.no(slot), tasks.run.get(slot)];
    context.effects.result({ jobNo, taskNo, run, body: result });
  }
  context.writeTask(slot, context.now, lease?.node.id ?? null);
  const { error } = ending;
  const detail = error === undefined ? ending.detail : { ...error, ...ending.detail };
  context.logTask(logKind(to, error), slot, lease?.node.id ?? null, detail);
  context.ended.push(slot);
  // What fails as a batch has failed for all of it. One that is cancelled leaves the others to the next of them.
  if (to === 'failed') {
    const end = error === undefined ? {} : { error };
    for (const member of membersOf(context.state, slot)) finish(context, member, to, end);
  }
  for (const next of settleKey(context, slot, to, result)) makeReady(context, next);
}

export function logKind(to: TerminalState, error?: TaskError): LogKind {
  switch (to) {
    case 'succeeded':
      return 'completed';
    case 'failed':
      return error?.code === 'dead' ? 'dead' : 'failed';
    case 'cancelled':
    case 'skipped':
      return to;
  }
}
