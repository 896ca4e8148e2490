/**
 * Second attempts at stragglers. The row of a task names one lease, its original one. While that runs, a second lease
 * may be given to another node, with the next fence and in memory only. Whichever attempt reports success first is
 * accepted. For that the duplicate takes the place of the original, in the same step, so that whatever ends a task ends
 * the lease that its row names, and ends the other one as well. The other one counts neither as a retry nor as a failure.
 *
 * There is a duplicate only while the original runs and nobody has asked it to stop. A leader that loads its state
 * knows of none: to it, the reports of a duplicate are those of a lease that has ended.
 */
import { invariant } from '../errors.ts';
import { Place } from '../memory/linked-list.ts';
import type { Node } from '../node/node.ts';
import type { SchedulerState } from '../state.ts';
import { leaseName } from '../task/lease.ts';
import type { Lease } from '../task/lease.ts';
import type { StepContext } from '../step-context.ts';

export function isDuplicate({ duplicates }: SchedulerState, lease: Lease): boolean {
  return duplicates.get(lease.slot) === lease;
}

/** The lease has not ended. */
export function isCurrent(state: SchedulerState, lease: Lease): boolean {
  return state.leases.get(lease.slot) === lease || isDuplicate(state, lease);
}

export function startDuplicate(context: StepContext, node: Node, original: Lease): Lease {
  const { state } = context;
  const { slot, job, taskNo, resumed } = original;
  invariant(state.leases.get(slot) === original, 'a duplicate is of a lease that has not ended');
  invariant(!state.duplicates.has(slot), 'a task has two leases at most');
  invariant(original.node !== node, 'the two leases of a task are on different nodes');
  invariant(original.stopping === null, 'what is being stopped is not started again');
  invariant(node.takesWork && node.hasRoom, 'a duplicate takes a free slot');
  invariant(!job.atLimit, 'a job at its limit is given no more');
  const fence = state.tasks.nextFence(slot);
  state.tasks.reserveFence(slot, fence);
  const lease: Lease = {
    ...{ slot, job, taskNo, fence, term: state.term, node, sessionId: node.sessionId, resumed },
    since: context.now,
    startedAt: null,
    stopping: null,
    beginsAgain: false,
    duplicate: 'none',
    ackedByPoll: null,
    namedIn: 0,
    place: new Place(),
  };
  original.duplicate = 'given';
  if (job.outputs !== null) job.outputs.duplicates += 1;
  state.duplicates.set(slot, lease);
  node.leases.add(lease);
  state.queue.assigned(slot, null);
  state.matching.held(node, state.tasks.requirement(slot), 1);
  const ranMs = context.now - original.since;
  context.logTask('duplicated', slot, node.id, { of: original.node.id, ranMs }, fence);
  return lease;
}

/** The duplicate has ended, whatever becomes of the task: the original goes on, or ends in this step as well. */
export function endDuplicate(
  context: StepContext,
  lease: Lease,
  detail: Readonly<Record<string, unknown>>,
): void {
  const { slot, node, fence } = lease;
  invariant(isDuplicate(context.state, lease), 'a duplicate ends once');
  context.state.duplicates.delete(slot);
  context.logTask('discarded', slot, node.id, { ...detail }, fence);
  freePlace(context, lease);
}

/** Of this task, if there is one. */
export function dropDuplicate(context: StepContext, slot: Lease['slot'], why: string): void {
  const duplicate = context.state.duplicates.get(slot);
  if (duplicate === undefined) return;
  endDuplicate(context, duplicate, { why });
  dismiss(context, duplicate);
}

/** The duplicate has succeeded first: from here on its lease is that of the task. */
export function preferDuplicate(context: StepContext, duplicate: Lease): void {
  const original = context.state.leases.get(duplicate.slot) as Lease;
  const { slot, node } = original;
  const why = `the second attempt, on node ${duplicate.node.id}, was faster`;
  context.logTask('discarded', slot, node.id, { why });
  replace(context, original, duplicate);
  dismiss(context, original);
}

/**
 * The original has ended short of success. If it has a duplicate, that takes its place, and the task goes on without a
 * pause; otherwise nothing happens, and the answer is false.
 */
export function continueDuplicate(context: StepContext, original: Lease): boolean {
  const { slot } = original;
  const duplicate = context.state.duplicates.get(slot);
  if (duplicate === undefined) return false;
  replace(context, original, duplicate);
  // Said again, so that nobody takes the task for one that waits.
  if (duplicate.startedAt !== null) context.logTask('started', slot, duplicate.node.id);
  return true;
}

function replace(context: StepContext, original: Lease, duplicate: Lease): void {
  const { state } = context;
  const { tasks } = state;
  const { slot } = original;
  invariant(state.leases.get(slot) === original, 'a lease ends once');
  state.duplicates.delete(slot);
  state.leases.set(slot, duplicate);
  freePlace(context, original);
  tasks.fence.set(slot, duplicate.fence);
  tasks.setTerm(slot, duplicate.term);
  tasks.startedAt.set(slot, duplicate.startedAt ?? 0);
  context.writeTask(slot);
}

/** What the lease took up. */
export function freePlace({ state }: StepContext, lease: Lease): void {
  const { slot, node } = lease;
  invariant(node.leases.delete(lease), 'the node of a lease knows of it');
  state.queue.released(slot);
  state.matching.held(node, state.tasks.requirement(slot), -1);
  // A freed place may let a parked poll of that node take more.
  state.matching.updateWaiting(node);
}

/** The worker hears at once that its lease has ended if its poll is parked, otherwise with its next message. */
function dismiss({ state }: StepContext, lease: Lease): void {
  const { poll } = lease.node;
  if (poll === null) return;
  poll.lost.push(leaseName(lease));
  state.answerable.add(lease.node);
}
