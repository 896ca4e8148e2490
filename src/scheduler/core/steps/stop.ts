/** Stopping a job: what has not started is cancelled, what runs is ordered to abort. */
import type { Job } from '../job/job.ts';
import type { TaskError } from '../rows.ts';
import { isTerminal } from '../task/chart.ts';
import type { Lease } from '../task/lease.ts';
import type { StepContext } from '../step-context.ts';
import { dropDuplicate } from './duplicates.ts';
import { finish } from './lifecycle.ts';

/**
 * From the commit of this step on, no task of the job can succeed any more: a completion that
 * arrives later ends as cancelled. The job itself ends with its last lease.
 */
export function stopJob(
  context: StepContext,
  job: Job,
  why: 'cancel' | 'timeout' | 'failure',
  error: TaskError | null,
): void {
  const { tasks, leases } = context.state;
  job.stopping = why;
  job.error = error;
  context.writeJob(job);
  for (const slot of job.slots) {
    const lease = leases.get(slot);
    if (lease !== undefined) orderAbort(context, lease, 'cancel');
    else if (!isTerminal(tasks.state(slot))) finish(context, slot, 'cancelled');
  }
}

/** Every answer asks the worker to stop until it confirms, or its session ends. */
export function orderAbort(context: StepContext, lease: Lease, why: 'cancel' | 'timeout'): void {
  if (why === 'cancel') lease.beginsAgain = false;
  if (lease.stopping === 'cancel' || lease.stopping === why) return;
  order(context, lease, why);
}

/** Its inputs are recomputed, so it begins again when it has stopped. The row says `cancel`, as for a job that is
 * stopped; the job's own row distinguishes the two. */
export function orderAgain(context: StepContext, lease: Lease): void {
  if (lease.stopping === 'cancel') return;
  lease.beginsAgain = true;
  order(context, lease, 'cancel');
}

function order(context: StepContext, lease: Lease, why: 'cancel' | 'timeout'): void {
  dropDuplicate(context, lease.slot, 'the first attempt is being stopped');
  lease.stopping = why;
  context.writeTask(lease.slot);
  if (lease.node.poll !== null) context.state.answerable.add(lease.node);
}
