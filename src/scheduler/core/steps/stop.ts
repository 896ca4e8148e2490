/** Stopping a job: what has not started is cancelled, what runs is ordered to abort. */
import type { Job } from '../job/job.ts';
import type { TaskError } from '../rows.ts';
import { isTerminal } from '../task/chart.ts';
import type { Lease } from '../task/lease.ts';
import type { Turn } from '../turn.ts';
import { finish } from './lifecycle.ts';

/**
 * From the commit of this turn on, no task of the job can succeed any more: a completion that
 * arrives later ends as cancelled. The job itself ends with its last lease.
 */
export function stopJob(
  turn: Turn,
  job: Job,
  why: 'cancel' | 'timeout' | 'failure',
  error: TaskError | null,
): void {
  const { tasks, leases } = turn.state;
  job.stopping = why;
  job.error = error;
  turn.writeJob(job);
  for (const slot of job.slots) {
    const lease = leases.get(slot);
    if (lease !== undefined) orderAbort(turn, lease, 'cancel');
    else if (!isTerminal(tasks.state(slot))) finish(turn, slot, 'cancelled');
  }
}

/** The worker is told with every answer until it confirms, or its session ends. */
export function orderAbort(turn: Turn, lease: Lease, why: 'cancel' | 'timeout'): void {
  if (why === 'cancel') lease.beginsAgain = false;
  if (lease.stopping === 'cancel' || lease.stopping === why) return;
  order(turn, lease, why);
}

/** What it has read is made anew, so it begins again when it has stopped. The row says `cancel`, as for a
 * job that is stopped; the job's own row tells the two apart. */
export function orderAgain(turn: Turn, lease: Lease): void {
  if (lease.stopping === 'cancel') return;
  lease.beginsAgain = true;
  order(turn, lease, 'cancel');
}

function order(turn: Turn, lease: Lease, why: 'cancel' | 'timeout'): void {
  lease.stopping = why;
  turn.writeTask(lease.slot);
  if (lease.node.poll !== null) turn.state.answerable.add(lease.node);
}
