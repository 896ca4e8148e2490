/** What workers say of their leases. A name that is not current changes nothing. */
import { printable } from '../document/text.ts';
import { assertNever } from '../errors.ts';
import type { Report, ReportItem, SuspendUntil } from '../event.ts';
import type { Verdict } from '../effects.ts';
import { later } from '../ids.ts';
import type { Instant } from '../ids.ts';
import type { Lease, LeaseName } from '../task/lease.ts';
import { UNFIT_STEP } from '../job/waits.ts';
import type { StepContext } from '../step-context.ts';
import { refill } from './assign.ts';
import { exonerate } from './quarantine.ts';
import { forgetFailures } from './retry-placement.ts';
import { TIMED_OUT, cancelled, failAttempt, giveBack, strike } from './attempt.ts';
import { endDuplicate, isDuplicate, preferDuplicate } from './duplicates.ts';
import { endLease, finish, makeReady } from './lifecycle.ts';
import { findLease, liveNode, ordersFor } from './session.ts';
import { adoptChildren, childrenFault } from './children.ts';
import { inputLost } from './outputs.ts';
import { settle } from './settle.ts';
import { sendFrom } from './raise.ts';
import { beginWait, submitFrom, waitFault, waitsFor } from './wait.ts';

export function report(context: StepContext, event: Report): void {
  const node = liveNode(context, event);
  if (node === null) return;
  const before = node.leases.size;
  const verdicts = event.items.map((item) => {
    const lease = findLease(context.state, item.lease);
    if (lease === null || lease.node !== node) return judgeStale(context, item);
    const verdict = isDuplicate(context.state, lease)
      ? applyToDuplicate(context, lease, item)
      : apply(context, lease, item);
    // Before the next item looks, and before the orders are read: an end may stop the whole job.
    settle(context);
    return verdict;
  });
  refill(context, node, before - node.leases.size);
  context.effects.reply(event.ask, { type: 'verdicts', verdicts, orders: ordersFor(node) });
}

/** Not a current lease. Was this very report accepted before, and only its answer lost? */
function judgeStale(context: StepContext, { kind, lease: name }: ReportItem): Verdict {
  const { jobs, tasks } = context.state;
  const job = jobs.get(name.jobNo);
  if (job === undefined) return 'unknown';
  if (job.id !== name.jobId) return 'lost';
  const slot = job.slot(name.taskNo);
  if (slot === null || tasks.fence.get(slot) !== name.fence || tasks.term(slot) !== name.term) {
    return 'lost';
  }
  if (kind === 'completed') return tasks.state(slot) === 'succeeded' ? 'ok' : 'lost';
  // The lease has ended: a worker that still works under it must stop, however it ended.
  if (kind === 'started' || kind === 'progress' || kind === 'step') return 'lost';
  return tasks.acceptedFence.get(slot) === name.fence ? 'ok' : 'lost';
}

function apply(context: StepContext, lease: Lease, item: ReportItem): Verdict {
  const { tasks } = context.state;
  const { slot } = lease;
  switch (item.kind) {
    case 'started':
      start(context, lease);
      return 'ok';
    case 'progress':
      start(context, lease);
      tasks.progress.set(slot, Math.min(1, Math.max(0, item.fraction)));
      context.writeTask(slot);
      context.logTask('progress', slot, lease.node.id, {
        fraction: tasks.progress.get(slot),
        ...(item.note === null ? {} : { note: item.note }),
      });
      return 'ok';
    case 'step': {
      start(context, lease);
      const [jobNo, taskNo, run] = [lease.job.no, lease.taskNo, tasks.run.get(slot)];
      context.effects.step({ jobNo, taskNo, run, name: item.name, body: item.body });
      if (item.job !== undefined) submitFrom(context, lease, item.job);
      if (item.sent !== undefined) sendFrom(context, item.sent);
      if (item.name.startsWith(UNFIT_STEP)) {
        context.logTask('job.signal_unfit', slot, lease.node.id, unfitDetail(item.body));
      }
      return 'ok';
    }
    case 'completed':
      return complete(context, lease, item.result);
    case 'failed':
      accept(context, item.lease, lease);
      if (item.failure === 'missing') strike(context, lease, item.error, item.missing);
      else failAttempt(context, lease, item.error, item.failure, item.retryAfterMs);
      return 'ok';
    case 'inputLost':
      accept(context, item.lease, lease);
      inputLost(context, lease, item.lost, item.error);
      return 'ok';
    case 'aborted':
    case 'released':
      accept(context, item.lease, lease);
      giveBack(context, lease);
      return 'ok';
    case 'skipped':
      accept(context, item.lease, lease);
      skip(context, lease, item.reason);
      return 'ok';
    case 'suspended':
      accept(context, item.lease, lease);
      suspend(context, lease, item.until);
      return 'ok';
    default:
      return assertNever(item);
  }
}

/** A success decides for it. In any other way it ends without a trace in the task. */
function applyToDuplicate(context: StepContext, lease: Lease, item: ReportItem): Verdict {
  const { slot, fence, node } = lease;
  switch (item.kind) {
    case 'started':
    case 'progress':
      // The progress that is shown is that of the original.
      if (lease.startedAt === null) context.logTask('started', slot, node.id, undefined, fence);
      lease.startedAt ??= context.now;
      return 'ok';
    case 'completed':
      preferDuplicate(context, lease);
      return complete(context, lease, item.result);
    case 'failed':
      if (item.failure === 'missing') strike(context, lease, item.error, item.missing);
      else failAttempt(context, lease, item.error, item.failure);
      return 'ok';
    case 'inputLost':
      inputLost(context, lease, item.lost, item.error);
      return 'ok';
    case 'aborted':
    case 'released':
      giveBack(context, lease);
      return 'ok';
    case 'step':
    case 'skipped':
    case 'suspended':
      // Only the original may change what is stored of the task.
      endDuplicate(context, lease, { why: `a second attempt may not report ${item.kind}` });
      return 'lost';
    default:
      return assertNever(item);
  }
}

/** The run timeout counts from here, not from the assignment: a prefetched task only waits. */
function start(context: StepContext, lease: Lease, isWritten = false): void {
  if (lease.startedAt !== null) return;
  const { tasks } = context.state;
  lease.startedAt = context.now;
  tasks.startedAt.set(lease.slot, context.now);
  if (!isWritten) context.writeTask(lease.slot);
  context.logTask('started', lease.slot, lease.node.id);
  armRunTimeout(context, lease, context.now);
}

export function armRunTimeout(context: StepContext, lease: Lease, from: Instant): void {
  const { runMs } = context.state.tasks.options(lease.slot).timeouts;
  if (runMs === null) return;
  const { job, taskNo, fence } = lease;
  const at = later(from, runMs);
  context.state.timers.arm({ type: 'runTimeout', at, jobNo: job.no, taskNo, fence });
}

/** A cancel that was committed before this moment wins; an ordered timeout does not. */
function complete(context: StepContext, lease: Lease, result: string | null): Verdict {
  if (cancelled(context, lease)) return 'lost';
  // Its row is written when it ends, below.
  start(context, lease, true);
  context.state.tasks.acceptedFence.set(lease.slot, lease.fence);
  exonerate(context, lease);
  finish(context, lease.slot, 'succeeded', { result });
  return 'ok';
}

function accept(context: StepContext, name: LeaseName, lease: Lease): void {
  context.state.tasks.acceptedFence.set(lease.slot, name.fence);
}

/** Like a completion: a cancel that was committed before wins. */
function skip(context: StepContext, lease: Lease, reason: string): void {
  if (cancelled(context, lease)) return;
  finish(context, lease.slot, 'skipped', { detail: { reason } });
}

/** The handler stepped aside without ending: no slot, no attempt is spent while it waits. */
function suspend(context: StepContext, lease: Lease, until: SuspendUntil): void {
  const { tasks } = context.state;
  const { slot } = lease;
  if (cancelled(context, lease)) return;
  if (lease.stopping === 'timeout') return failAttempt(context, lease, TIMED_OUT, 'retryable');
  const isWait = until.type === 'wait';
  const fault = isWait ? waitFault(context, lease, until) : childrenFault(context, lease, until);
  if (fault !== null) return failAttempt(context, lease, fault, 'fatal');
  const detail = { until: isWait ? waitsFor(until) : until.type };
  context.logTask('suspended', slot, lease.node.id, detail);
  endLease(context, lease);
  // It came further than ever before: a task that waits for a year may fail more often than one that
  // runs for a minute.
  tasks.failures.set(slot, 0);
  forgetFailures(context.state, slot);
  // What it has made before and lost is not made good by this.
  if (tasks.options(slot).output === undefined) tasks.losses.set(slot, 0);
  if (isWait) return beginWait(context, slot, until);
  tasks.setSuspended(slot, 'children');
  const children = adoptChildren(context, lease, until);
  if (tasks.openChildren(slot) === 0) return makeReady(context, slot);
  tasks.move(slot, 'blocked');
  context.writeTask(slot);
  // Last, for some may end at once: their parent must be waiting by then.
  for (const child of children) makeReady(context, child);
}

/** As the worker reported it, where it has the expected form. */
function unfitDetail(body: string): Readonly<Record<string, unknown>> {
  const parsed = JSON.parse(body) as { readonly name?: unknown; readonly why?: unknown } | null;
  const text = (value: unknown): string =>
    typeof value === 'string' ? printable(value, UNFIT_WHY_MAX) : '';
  return { name: text(parsed?.name), why: text(parsed?.why) };
}

const UNFIT_WHY_MAX = 1_000;
