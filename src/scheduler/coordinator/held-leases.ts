/** Leases that sessions hold now: what people see of them, and who may register the output of a fragment. */
import { MillraceError, findLease, fragmentNo, fragmentTaskId } from '../core/index.ts';
import type { Instant, JobId, LeaseName, SchedulerState, TaskId } from '../core/index.ts';
import type { FragmentKey, HeldFragment, Session } from '../contract/index.ts';

/** What only the memory knows of a lease. */
export interface HeldLease {
  readonly fence: number;
  readonly since: Instant;
  /** When its session ends, unless it is renewed. */
  readonly expiresAt: Instant;
}

/** Null for a task that does not run. */
export function heldLease(state: SchedulerState, jobId: JobId, taskId: TaskId): HeldLease | null {
  const lease = leaseOf(state, jobId, taskId);
  if (lease === undefined) return null;
  return { fence: lease.fence, since: lease.since, expiresAt: lease.node.expiresAt };
}

function leaseOf(
  { jobsById, tasks, leases }: SchedulerState,
  jobId: JobId,
  taskId: TaskId,
): Lease | undefined {
  const job = jobsById.get(jobId);
  const taskNo = job?.taskNo(taskId, tasks) ?? null;
  const slot = taskNo === null ? null : (job?.slot(taskNo) ?? null);
  return slot === null ? undefined : leases.get(slot);
}

/**
 * The fragment that the session runs under this key. Throws `unknown_session`, or `superseded` when the session does not
 * hold that attempt.
 */
export function heldFragment(
  state: SchedulerState,
  { nodeId, sessionId }: Session,
  key: FragmentKey,
): HeldFragment {
  const node = state.nodes.get(nodeId);
  if (node?.sessionId !== sessionId || node.status !== 'healthy') throw unknownSession(nodeId);
  const lease = leaseOf(state, key.query, fragmentTaskId(key.stage, key.task));
  const isOwn = lease !== undefined && lease.node === node && lease.sessionId === sessionId;
  const held = isOwn ? fragmentOf(state, lease) : null;
  if (held === null || !isMeant(key, held)) throw notHeld(key, held);
  return held;
}

/** The fragment that this lease is for; null if it is not current, of another session, or of another kind of task. */
export function leasedFragment(
  state: SchedulerState,
  { nodeId, sessionId }: Session,
  name: LeaseName,
): HeldFragment | null {
  // Only the tasks of queries have outputs, and most reports are about others.
  if ((state.jobs.get(name.jobNo)?.outputs ?? null) === null) return null;
  const lease = findLease(state, name);
  if (lease === null || lease.node.id !== nodeId || lease.sessionId !== sessionId) return null;
  return fragmentOf(state, lease);
}

type Lease = NonNullable<ReturnType<SchedulerState['leases']['get']>>;

function fragmentOf(
  { tasks }: SchedulerState,
  { job, slot, fence, node }: Lease,
): HeldFragment | null {
  const taskId = tasks.id(slot);
  const no = job.outputs === null ? null : fragmentNo(taskId);
  if (no === null) return null;
  const attempt = tasks.attempt.get(slot);
  const { id: nodeId, offer } = node;
  return { query: job.id, taskId, ...no, fence, attempt, nodeId, address: offer.address };
}

function isMeant({ fence, attempt }: FragmentKey, held: HeldFragment): boolean {
  if (fence !== 0 && fence !== held.fence) return false;
  return attempt === 0 || attempt === held.attempt;
}

function notHeld(key: FragmentKey, held: HeldFragment | null): MillraceError {
  const { query, stage, task, attempt, fence } = key;
  const asked = `attempt ${attempt} (fence ${fence}) of task ${task} in stage ${stage} of query ${query}`;
  return new MillraceError({
    code: 'superseded',
    what: `This session does not run ${asked}.`,
    ...(held === null
      ? { todo: 'Stop working on it: GetTask says what this session holds.' }
      : { why: `It runs attempt ${held.attempt} (fence ${held.fence}) of that task.` }),
  });
}

function unknownSession(nodeId: string): MillraceError {
  return new MillraceError({
    code: 'unknown_session',
    what: `Worker ${nodeId} has no such session here.`,
    todo: 'Call RegisterWorker first, with a session id of its own.',
  });
}
