/** Polls come in and wait; one pass before each commit gives them work and answers them. */
import { labelsOf } from '../document/labels.ts';
import type { Assignment } from '../effects.ts';
import type { HangUp, PollEvent } from '../event.ts';
import type { Node, Poll } from '../node/node.ts';
import type { Job } from '../job/job.ts';
import { keyInScope } from '../job/execution-key.ts';
import { scheduledTime } from '../schedule/occurrence.ts';
import { leaseName } from '../task/lease.ts';
import type { Lease, LeaseName } from '../task/lease.ts';
import type { StepContext } from '../step-context.ts';
import { giveBack } from './attempt.ts';
import { memberRefs } from './batch.ts';
import { isCurrent, startDuplicate } from './duplicates.ts';
import { startLease } from './lifecycle.ts';
import { heldLeases, liveNode, ordersFor } from './session.ts';
import { placesForStragglers } from './stragglers.ts';

export function poll(context: StepContext, event: PollEvent): void {
  const node = liveNode(context, event);
  if (node === null) return;
  const { state } = context;
  const held = heldLeases(state, node, event.held);
  if (event.pollNo <= node.lastPollNo) return answerEmpty(context, node, event.ask, held.lost);
  if (node.poll !== null) answerEmpty(context, node, node.poll.ask, []);
  node.lastPollNo = event.pollNo;
  const again: Lease[] = [];
  const unwanted: Lease[] = [];
  for (let lease = node.leases.first; lease !== null; lease = lease.place.after) {
    if (lease.namedIn === held.listNo) lease.ackedByPoll ??= event.pollNo;
    else (lease.stopping === null ? again : unwanted).push(lease);
  }
  // Never received, and not wanted any more: there is nothing to abort.
  for (const lease of unwanted) giveBack(context, lease);
  const wants = event.capacity - again.length;
  const { ask, pollNo: no, refills = false } = event;
  node.poll = { ask, no, wants, refills, again, fresh: [], lost: [...held.lost] };
  const orders = ordersFor(node, held.lost);
  if (again.length > 0 || orders.abort.length > 0 || orders.drain) state.answerable.add(node);
  state.matching.updateWaiting(node);
}

/** So many leases of the node have ended by its own report. What comes next then needs no poll of its own: it
 * goes out with the very commit that ended them. */
export function refill(context: StepContext, node: Node, ended: number): void {
  if (ended === 0 || node.poll?.refills !== true) return;
  node.poll.wants += ended;
  context.state.matching.updateWaiting(node);
}

/** Answered in the next pass with whatever there is for it by then. */
export function hangUp(context: StepContext, event: HangUp): void {
  const node = context.state.nodes.get(event.nodeId);
  if (node?.sessionId !== event.sessionId || node.poll?.no !== event.pollNo) return;
  context.state.answerable.add(node);
}

/** Matches ready tasks with waiting polls until one of the two runs out. */
export function assign(context: StepContext): void {
  const { answerable } = context.state;
  giveTasks(context);
  // Only that pass shows that what a node is emptied for waits for something else: the node takes other work again.
  while (keepNodes(context)) giveTasks(context);
  serveLastResorts(context);
  clearNodes(context);
  for (const { node, original } of placesForStragglers(context)) {
    give(context, node, startDuplicate(context, node, original));
  }
  for (const node of answerable) {
    if (node.poll !== null) answer(context, node, node.poll);
  }
  answerable.clear();
}

function giveTasks(context: StepContext): void {
  const { matching, queue } = context.state;
  for (const group of matching.active) {
    matching.active.delete(group);
    const { waiting } = group;
    for (let node = waiting.first; node !== null;) {
      const slot = queue.take(group, node);
      if (slot === null && !group.mayHaveWork) break;
      const { after } = node.place;
      if (slot === null) {
        node = after;
        continue;
      }
      give(context, node, startLease(context, node, slot));
      // The last one is behind itself, if it takes more. What it took may have moved others to another group.
      const next: Node = after ?? node;
      node = waiting.has(next) ? next : after === null ? null : waiting.first;
    }
  }
}

/** A node in quarantine shows by one task at a time whether it works, while all others are full. */
function serveLastResorts(context: StepContext): void {
  const { matching, queue } = context.state;
  for (const node of matching.quarantined) {
    if (!node.canTakeMore || node.leases.size > 0 || node.triedAgainAt > context.now) continue;
    const slot = queue.takeWhere(node.meets, (requirement) =>
      matching.isLastResort(node, requirement),
    );
    if (slot !== null) give(context, node, startLease(context, node, slot));
  }
}

/** Nodes are not emptied any more for tasks that cannot come. False if all still are. */
function keepNodes({ state: { matching } }: StepContext): boolean {
  const before = matching.cleared.size;
  for (const node of matching.cleared) {
    const { clearedFor } = node;
    if (clearedFor?.isWaited !== true || matching.isPaused(clearedFor)) matching.clear(node, null);
  }
  return matching.cleared.size < before;
}

/** A task that runs alone gets a node that is emptied for it, when none is empty. */
function clearNodes(context: StepContext): void {
  const { matching } = context.state;
  for (const requirement of matching.alone) {
    if (!requirement.isWaited || requirement.groups.size > 0) continue;
    if (matching.isPaused(requirement)) continue;
    if ([...matching.cleared].some(({ clearedFor }) => clearedFor === requirement)) continue;
    const node = matching.emptiest(requirement);
    if (node?.group?.mayHaveWorkBefore(requirement.priority) === false) {
      matching.clear(node, requirement);
    }
  }
}

/** One task at a time and then to the back: work is spread, not heaped on the first poll. */
function give(context: StepContext, node: Node, lease: Lease): void {
  const { matching, answerable } = context.state;
  const parked = node.poll as Poll;
  parked.fresh.push(lease);
  parked.wants -= 1;
  answerable.add(node);
  matching.moveBack(node);
}

function answer(context: StepContext, node: Node, parked: Poll): void {
  node.poll = null;
  context.state.matching.updateWaiting(node);
  const current = [...parked.again, ...parked.fresh].filter((lease) =>
    isCurrent(context.state, lease),
  );
  context.effects.reply(parked.ask, {
    type: 'assignments',
    assignments: current.map((lease) => assignment(context, lease)),
    orders: ordersFor(node, parked.lost),
  });
}

function answerEmpty(
  context: StepContext,
  node: Node,
  ask: PollEvent['ask'],
  lost: readonly LeaseName[],
): void {
  context.effects.reply(ask, {
    type: 'assignments',
    assignments: [],
    orders: ordersFor(node, lost),
  });
}

function about({ options: { startedBy }, labels }: Job): Pick<Assignment, 'about'> {
  return { about: { startedBy, labels: labelsOf(labels) } };
}

function assignment(context: StepContext, lease: Lease): Assignment {
  const { tasks } = context.state;
  const { slot, job } = lease;
  const { executor } = tasks.requirement(slot);
  const key = tasks.key(slot);
  return {
    lease: leaseName(lease),
    jobId: job.id,
    taskId: tasks.id(slot),
    executor,
    run: tasks.run.get(slot),
    attempt: tasks.attempt.get(slot),
    runMs: tasks.options(slot).timeouts.runMs,
    assignedAt: context.now,
    scheduledAt: scheduledTime(job),
    hasChildren: tasks.children(slot).length > 0,
    resumed: lease.resumed,
    idempotencyKey: key === null ? null : keyInScope(executor, key.scope),
    trace: job.options.trace,
    ...(job.options.startedBy === null && job.labels.length === 0 ? undefined : about(job)),
    ...(job.options.batch === null ? undefined : { members: memberRefs(context.state, slot) }),
  };
}
