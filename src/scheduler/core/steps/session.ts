/** Nodes come, speak, fall silent and go. A session ends once; its leases end with it. */
import { MillraceError } from '../errors.ts';
import type { Drain, Heartbeat, Leave, Register, ReleaseNode, SessionGone } from '../event.ts';
import type { Orders } from '../effects.ts';
import { later } from '../ids.ts';
import type { NodeId } from '../ids.ts';
import { Node } from '../node/node.ts';
import type { NodeOffer } from '../node/node.ts';
import { isOperatorExecutor } from '../node/operator.ts';
import type { SchedulerState } from '../state.ts';
import { leaseName } from '../task/lease.ts';
import type { Lease, LeaseName } from '../task/lease.ts';
import type { StepContext } from '../step-context.ts';
import { giveBack, loseAttempt } from './attempt.ts';
import type { Loss } from './attempt.ts';
import { loseOutputs } from './outputs.ts';
import { armQuarantineEnd, endQuarantine } from './quarantine.ts';

/** Old session ids kept to refuse a late registration; beyond this the oldest are forgotten. */
const ENDED_SESSIONS_MAX = 10_000;

export function register(context: StepContext, event: Register): void {
  const { state } = context;
  const { offer, ask } = event;
  if (state.replacedSessions.has(offer.sessionId)) return context.refuse(ask, superseded(offer.id));
  const known = state.nodes.get(offer.id);
  const { sessionTtlMs, heartbeatMs } = state.settings;
  if (known?.sessionId === offer.sessionId) {
    // The same process again: a repeated call, or new capabilities. Strikes are forgiven.
    known.offer = offer;
    known.executors.clear();
    for (const executor of offer.executors) known.executors.add(executor);
    known.strikes.clear();
    touch(context, known);
    state.matching.remove(known);
    state.matching.add(known);
    context.writeNode(known);
  } else {
    if (known !== undefined && !mayReplace(known, event)) {
      return context.refuse(ask, nameTaken(context, known));
    }
    if (known?.status === 'healthy') {
      const isSame = isSameProcess(known.offer, offer);
      const why = 'replaced by a new session of the node';
      endSession(context, known, { why, culprit: isSame ? 'nobody' : culpritIn(known) });
    }
    const node = new Node(offer, context.now, later(context.now, sessionTtlMs));
    if (known !== undefined) inheritRecord(node, known);
    state.nodes.set(offer.id, node);
    state.matching.add(node);
    armSession(context, node);
    armQuarantineEnd(context, node);
    context.writeNode(node);
    // Without its session id: a reader of the log could act as the node.
    context.log('node.registered', node.id);
  }
  context.effects.reply(ask, { type: 'registered', sessionTtlMs, heartbeatMs });
}

/** A name belongs to one living worker at a time. A newcomer gets it when the previous session has ended, when it
 * comes from the same process, or when the other process is proven to be gone. */
function mayReplace({ status, offer, sessionId }: Node, event: Register): boolean {
  if (status !== 'healthy' || event.goneSession === sessionId) return true;
  return isSameProcess(offer, event.offer);
}

function isSameProcess(known: NodeOffer, offer: NodeOffer): boolean {
  const process = processOf(known);
  return process !== null && process === processOf(offer);
}

/** What tells the worker's process from all others, if it says so. */
function processOf({ capabilities: { process } }: NodeOffer): string | null {
  return typeof process === 'string' ? process : null;
}

/** Nothing that merely waited at the node can have ended it. Where no start is known, anything can. */
function culpritIn(node: Node): Loss['culprit'] {
  const isKnown = node.leases.all().some(({ startedAt }) => startedAt !== null);
  return isKnown ? 'begun' : 'anybody';
}

/** A restart does not clear a node's name. */
function inheritRecord(node: Node, before: Node): void {
  node.quarantinedUntil = before.quarantinedUntil;
  node.onProbation = before.onProbation;
  node.failures.push(...before.failures);
  node.failedInRow = before.failedInRow;
  node.triedAgainAt = before.triedAgainAt;
}

export function armSession(context: StepContext, node: Node): void {
  const { id: nodeId, sessionId, expiresAt } = node;
  context.state.timers.arm({ type: 'session', at: expiresAt, nodeId, sessionId });
}

/** Any message of a session renews it, in memory only: a heartbeat writes no row. */
function touch(context: StepContext, node: Node): void {
  node.seenAt = context.now;
  node.expiresAt = later(context.now, context.state.settings.sessionTtlMs);
}

/** The node, if the session lives; otherwise null, and the caller was answered. */
export function liveNode(context: StepContext, event: Heartbeat | Leave | SpeaksFor): Node | null {
  const node = context.state.nodes.get(event.nodeId);
  if (node?.sessionId === event.sessionId && node.status === 'healthy') {
    touch(context, node);
    return node;
  }
  const gone = context.state.replacedSessions.has(event.sessionId);
  context.refuse(event.ask, gone ? superseded(event.nodeId) : unknownSession(event.nodeId));
  return null;
}

type SpeaksFor = Pick<Leave, 'ask' | 'nodeId' | 'sessionId'>;

export function heartbeat(context: StepContext, event: Heartbeat): void {
  const node = liveNode(context, event);
  if (node === null) return;
  if (event.operators !== undefined) offerOperators(context, node, event.operators);
  const held = heldLeases(context.state, node, event.held);
  for (const lease of node.leases.all()) {
    const missed = lease.ackedByPoll !== null && lease.ackedByPoll <= event.seenPoll;
    if (!missed || lease.namedIn === held.listNo) continue;
    // The worker had it and has it no longer.
    if (lease.stopping === null) sendAgain(context, node, lease);
    else giveBack(context, lease);
  }
  context.effects.reply(event.ask, { type: 'orders', orders: ordersFor(node, held.lost) });
}

/** What a worker has dropped or taken up since it registered. Executors change with a registration only. */
function offerOperators(context: StepContext, node: Node, operators: readonly string[]): void {
  let known = 0;
  for (const executor of node.executors) if (isOperatorExecutor(executor)) known += 1;
  if (known === operators.length && operators.every((each) => node.executors.has(each))) return;
  const executors = node.offer.executors.filter((each) => !isOperatorExecutor(each));
  node.offer = { ...node.offer, executors: [...executors, ...operators] };
  node.executors.clear();
  for (const executor of node.offer.executors) node.executors.add(executor);
  context.state.matching.remove(node);
  context.state.matching.add(node);
  context.writeNode(node);
}

/** With the parked poll, or the next one. */
function sendAgain(context: StepContext, node: Node, lease: Lease): void {
  lease.ackedByPoll = null;
  if (node.poll === null) return;
  node.poll.again.push(lease);
  node.poll.wants -= 1;
  context.state.answerable.add(node);
  context.state.matching.updateWaiting(node);
}

/** Sorts what a worker says it holds into what it does hold, which is marked with the number of the list, and what it
 * must let go. */
export function heldLeases(
  state: SchedulerState,
  node: Node,
  names: readonly LeaseName[],
): { readonly listNo: number; readonly lost: readonly LeaseName[] } {
  node.lists += 1;
  const listNo = node.lists;
  const lost: LeaseName[] = [];
  for (const name of names) {
    const lease = findLease(state, name);
    if (lease !== null && lease.node === node) lease.namedIn = listNo;
    else lost.push(name);
  }
  return { listNo, lost };
}

/** The lease of that very name, if it is current: job id, fence and term must all agree. */
export function findLease(state: SchedulerState, name: LeaseName): Lease | null {
  const job = state.jobs.get(name.jobNo);
  if (job === undefined || job.id !== name.jobId) return null;
  const slot = job.slot(name.taskNo);
  if (slot === null) return null;
  return named(state.leases.get(slot), name) ?? named(state.duplicates.get(slot), name);
}

function named(lease: Lease | undefined, { fence, term }: LeaseName): Lease | null {
  return lease !== undefined && lease.fence === fence && lease.term === term ? lease : null;
}

export function ordersFor(node: Node, lost: readonly LeaseName[] = []): Orders {
  const abort: LeaseName[] = [];
  // A busy worker holds hundreds, and none of them is to be stopped.
  for (let lease = node.leases.first; lease !== null; lease = lease.place.after)
    if (lease.stopping !== null) abort.push(leaseName(lease));
  for (const name of lost) abort.push(name);
  return { abort, drain: node.draining };
}

export function leave(context: StepContext, event: Leave): void {
  const node = liveNode(context, event);
  if (node === null) return;
  for (const lease of node.leases.all()) giveBack(context, lease);
  endSession(context, node, { why: 'left', culprit: 'nobody' });
  context.state.nodes.delete(node.id);
  context.effects.node(node.id, null);
  context.log('node.left', node.id);
  context.effects.reply(event.ask, { type: 'node', nodeId: node.id });
}

export function sessionGone(context: StepContext, event: SessionGone): void {
  const node = context.state.nodes.get(event.nodeId);
  if (node?.sessionId !== event.sessionId || node.status !== 'healthy') return;
  goStale(context, node, 'its process is gone');
}

/** The session timer: a session renewed meanwhile gets a new one. */
export function sessionDue(context: StepContext, node: Node): void {
  if (node.expiresAt > context.now) return armSession(context, node);
  goStale(context, node, 'no heartbeat within the session TTL');
}

function goStale(context: StepContext, node: Node, why: string): void {
  endSession(context, node, { why, culprit: culpritIn(node) });
  node.status = 'stale';
  context.writeNode(node);
  context.log('node.stale', node.id, { why });
  armDeath(context, node);
}

/** From silent to dead, and from dead to forgotten, each counted from the last message. */
export function armDeath(context: StepContext, node: Node): void {
  const { nodeDeadMs, nodeForgetMs } = context.state.settings;
  const { id: nodeId, sessionId } = node;
  const isStale = node.status === 'stale';
  const at = later(node.seenAt, isStale ? nodeDeadMs : nodeDeadMs + nodeForgetMs);
  context.state.timers.arm({ type: isStale ? 'nodeDead' : 'nodeForget', at, nodeId, sessionId });
}

export function nodeDeadDue(context: StepContext, node: Node): void {
  node.status = 'dead';
  context.writeNode(node);
  context.log('node.dead', node.id);
  armDeath(context, node);
}

export function nodeForgetDue(context: StepContext, node: Node): void {
  context.state.nodes.delete(node.id);
  context.effects.node(node.id, null);
}

/** Nothing this session says from now on is believed. */
function endSession(context: StepContext, node: Node, loss: Loss): void {
  const { state } = context;
  const { poll } = node;
  node.poll = null;
  state.answerable.delete(node);
  state.matching.remove(node);
  for (const lease of node.leases.all()) loseAttempt(context, lease, loss);
  loseOutputs(context, node);
  if (poll !== null) context.refuse(poll.ask, superseded(node.id));
  state.replacedSessions.set(node.sessionId, node.id);
  if (state.replacedSessions.size > ENDED_SESSIONS_MAX) {
    const [oldest] = state.replacedSessions.keys();
    if (oldest !== undefined) state.replacedSessions.delete(oldest);
  }
}

export function drain(context: StepContext, event: Drain): void {
  const node = context.state.nodes.get(event.nodeId);
  if (node === undefined) return context.refuse(event.ask, unknownNode(event.nodeId));
  if (!node.draining) {
    node.draining = true;
    context.state.matching.update(node);
    if (node.poll !== null) context.state.answerable.add(node);
    context.writeNode(node);
    context.log('node.draining', node.id);
  }
  context.effects.reply(event.ask, { type: 'node', nodeId: node.id });
}

export function releaseNode(context: StepContext, event: ReleaseNode): void {
  const node = context.state.nodes.get(event.nodeId);
  if (node === undefined) return context.refuse(event.ask, unknownNode(event.nodeId));
  endQuarantine(context, node, false);
  if (node.draining) {
    node.draining = false;
    context.state.matching.update(node);
    context.writeNode(node);
    context.log('node.released', node.id);
  }
  context.effects.reply(event.ask, { type: 'node', nodeId: node.id });
}

function superseded(nodeId: NodeId): MillraceError {
  return new MillraceError({
    code: 'superseded',
    what: `This session of node ${nodeId} has ended.`,
    todo: 'Stop all its tasks and call RegisterWorker with a new session id.',
  });
}

/** As long as the other one sends messages, it lives. After that it is unknown, until its session ends. */
function nameTaken(context: StepContext, { id, offer, expiresAt, seenAt }: Node): MillraceError {
  const { now, state } = context;
  const leftMs = Math.max(0, expiresAt - now);
  if (later(seenAt, state.settings.heartbeatMs * 2) < now) {
    return new MillraceError({
      code: 'conflict',
      what: `The last session of node ${id} has not ended yet.`,
      why: 'Its worker no longer sends heartbeats, but there is no proof that its process has ended.',
      todo: `Retry: it expires in ${leftMs} ms unless the other worker sends a heartbeat.`,
    });
  }
  const address = offer.address === null ? '' : ` at ${offer.address}`;
  return new MillraceError({
    code: 'name_taken',
    what: `Another worker with the name ${id}${address} is connected.`,
    why: 'Two workers with the same name would end each other’s sessions.',
    todo: `Give this one another --node-id. If the other one has crashed, its session expires in ${leftMs} ms.`,
  });
}

function unknownSession(nodeId: NodeId): MillraceError {
  return new MillraceError({
    code: 'unknown_session',
    what: `Node ${nodeId} has no such session here.`,
    todo: 'Stop all its tasks and call RegisterWorker with a new session id.',
  });
}

function unknownNode(nodeId: NodeId): MillraceError {
  return new MillraceError({ code: 'not_found', what: `There is no node ${nodeId}.` });
}
