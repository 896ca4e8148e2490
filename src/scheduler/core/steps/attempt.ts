/** The ways an attempt ends short of success, and what becomes of the task. */
import { later } from '../ids.ts';
import type { FailureClass } from '../event.ts';
import { fraction } from '../random.ts';
import type { TaskError } from '../rows.ts';
import type { SchedulerState } from '../state.ts';
import { operatorExecutor } from '../node/operator.ts';
import type { Lease } from '../task/lease.ts';
import type { Slot } from '../task/table.ts';
import type { StepContext } from '../step-context.ts';
import { continueDuplicate, endDuplicate, isDuplicate } from './duplicates.ts';
import { delay, endLease, finish, makeReady } from './lifecycle.ts';
import { lossesInCompany } from './retry-placement.ts';
import { blame } from './quarantine.ts';

/** The handler failed, or was aborted because its time was up. */
export function failAttempt(
  context: StepContext,
  lease: Lease,
  error: TaskError,
  failure: Exclude<FailureClass, 'missing'>,
  retryAfterMs?: number,
): void {
  const { tasks } = context.state;
  const { slot, node } = lease;
  if (isDuplicate(context.state, lease)) return endDuplicate(context, lease, { ...error });
  if (cancelled(context, lease)) return;
  tasks.failures.set(slot, tasks.failures.get(slot) + 1);
  if (failure === 'retryable') blame(context, lease);
  const { maxAttempts } = tasks.options(slot).retry;
  const failures = tasks.failures.get(slot);
  if (failure === 'fatal') return finish(context, slot, 'failed', { error });
  if (isOverdue(context, slot)) return finish(context, slot, 'failed', { error: overdue(error) });
  if (failures >= maxAttempts) {
    const times = failures === 1 ? '1 attempt' : `${failures} attempts`;
    const message = `gave up after ${times}; the last error was ${error.code}: ${error.message}`;
    return finish(context, slot, 'failed', { error: { code: 'dead', message } });
  }
  context.logTask('retried', slot, node.id, { ...error });
  tasks.setError(slot, error);
  if (continueDuplicate(context, lease)) return;
  endLease(context, lease);
  const waitMs = retryAfterMs ?? backoffMs(context.state, slot, failures);
  delay(context, slot, later(context.now, waitMs));
}

/** It was asked to stop, so it has, whatever it says: for good, or to begin again. False if it was not. */
export function cancelled(context: StepContext, lease: Lease): boolean {
  const { slot, node } = lease;
  if (lease.stopping !== 'cancel') return false;
  if (!lease.beginsAgain) {
    finish(context, slot, 'cancelled');
    return true;
  }
  context.logTask('released', slot, node.id, { why: 'its input is being recomputed' });
  endLease(context, lease);
  makeReady(context, slot);
  return true;
}

/**
 * The session ended under the lease: it is unknown how far the attempt came. It counts against the task if the task
 * may be the cause: the attempt was alone on its node, or it had begun. In company it never counts so often that the
 * task ends.
 */
export function loseAttempt(context: StepContext, lease: Lease, loss: Loss): void {
  const { tasks } = context.state;
  const { slot, node } = lease;
  const { why } = loss;
  if (isDuplicate(context.state, lease)) return endDuplicate(context, lease, { why });
  if (cancelled(context, lease)) return;
  if (lease.stopping === 'timeout') return failAttempt(context, lease, TIMED_OUT, 'retryable');
  if (loss.culprit === 'nobody') return giveBack(context, lease);
  const { maxLosses } = tasks.options(slot).retry;
  const { isAlone } = tasks.requirement(slot).restriction;
  const before = tasks.losses.get(slot);
  const mayBeIts = isAlone || loss.culprit === 'anybody' || lease.startedAt !== null;
  const counts = mayBeIts && (isAlone || before < lossesInCompany(maxLosses));
  const losses = counts ? before + 1 : before;
  tasks.losses.set(slot, losses);
  const exposures = tasks.exposures(slot) + 1;
  tasks.setExposures(slot, exposures);
  if (losses > maxLosses) {
    const message =
      `lost its node ${losses} times, the last one ${node.id}: ${why}; ` +
      'see the last log lines of that node';
    return finish(context, slot, 'failed', { error: { code: 'dead', message } });
  }
  context.logTask('reassigned', slot, node.id, { why });
  if (continueDuplicate(context, lease)) return;
  endLease(context, lease);
  // The first loss is most likely the node's bad luck, the next ones may be the task's doing.
  const times = Math.max(losses, exposures);
  if (times === 1) makeReady(context, slot);
  else delay(context, slot, later(context.now, backoffMs(context.state, slot, times - 1)));
}

/** Why a session has ended, and whose doing that may be. */
export interface Loss {
  readonly why: string;
  /** Of what the session held: whatever had begun, anything since nothing is known to have begun, or nothing. */
  readonly culprit: 'begun' | 'anybody' | 'nobody';
}

/** The node lacks an executor that it promised: it is not asked for that again, others are. */
export function strike(
  context: StepContext,
  lease: Lease,
  error: TaskError,
  missing: string | undefined,
): void {
  const { tasks, matching } = context.state;
  const { executor, placement } = tasks.requirement(lease.slot);
  const others = [...placement.executors, ...placement.executorsAny];
  const names = missing === undefined ? [] : [missing, operatorExecutor(missing)];
  // What the task does not ask for would not keep it from coming back here.
  lease.node.strikes.add(names.find((name) => others.includes(name)) ?? executor);
  matching.update(lease.node);
  giveBack(context, lease, error);
}

/** Given back by a worker that could or would not run it: counts as nothing, unless it was asked to
 * stop, for then it has. */
export function giveBack(context: StepContext, lease: Lease, error: TaskError | null = null): void {
  const { slot, node } = lease;
  if (isDuplicate(context.state, lease)) {
    return endDuplicate(context, lease, error === null ? { why: 'returned' } : { ...error });
  }
  if (cancelled(context, lease)) return;
  if (lease.stopping === 'timeout') return failAttempt(context, lease, TIMED_OUT, 'retryable');
  context.logTask('released', slot, node.id, error === null ? undefined : { ...error });
  if (error !== null) context.state.tasks.setError(slot, error);
  if (continueDuplicate(context, lease)) return;
  endLease(context, lease);
  makeReady(context, slot);
}

export const TIMED_OUT: TaskError = {
  code: 'timeout',
  message: 'the attempt ran longer than timeouts.runMs',
};

/** Exponential, with a jitter of up to a half that is the same whenever it is computed. */
export function backoffMs(state: SchedulerState, slot: Slot, times: number): number {
  const { tasks } = state;
  const retry = tasks.options(slot).retry;
  const full = Math.min(retry.maxBackoffMs, retry.backoffMs * 2 ** Math.min(times - 1, 30));
  const jitter = fraction(tasks.job(slot).no, tasks.no(slot), tasks.fence.get(slot));
  return Math.max(1, Math.round(full * (1 - jitter / 2)));
}

/** Whether the time for all attempts together has passed. */
function isOverdue(context: StepContext, slot: Slot): boolean {
  const { tasks } = context.state;
  const { totalMs } = tasks.options(slot).timeouts;
  return totalMs !== null && later(tasks.since(slot), totalMs) <= context.now;
}

function overdue(error: TaskError): TaskError {
  const message = `timeouts.totalMs is over; the last error was ${error.code}: ${error.message}`;
  return { code: 'timeout', message };
}
