/** Debounced jobs: of those with one key that come shortly after each other only the last one runs. */
import type { JobDocument } from '../document/document.ts';
import { instant, later } from '../ids.ts';
import type { Instant, JobId } from '../ids.ts';
import type { Job } from '../job/job.ts';
import type { StepContext } from '../step-context.ts';
import { stopJob } from './stop.ts';

/** When a new job starts, and since when jobs of its key have been waiting. */
export interface Start {
  readonly runAt: Instant | null;
  readonly firstAt: Instant | null;
  /** The first job of the batch that it joins. */
  readonly batchOf?: JobId | null;
}

/** A new job replaces the one of its key that has not started yet. */
export function startOf(context: StepContext, id: JobId, document: JobDocument): Start {
  const { debounce } = document.options;
  if (debounce === null) return { runAt: document.runAt, firstAt: null };
  const { key, ms, maxMs } = debounce;
  const { now, state } = context;
  const pending = state.debounced.get(key);
  const isPending = pending !== undefined && isPendingAt(pending, now);
  const firstAt = isPending ? (pending.options.firstAt ?? now) : now;
  if (isPending) replace(context, pending, id);
  const latest = maxMs === null ? Infinity : firstAt + maxMs;
  return { runAt: instant(Math.min(later(now, ms), latest)), firstAt };
}

/** A job was loaded. The next one of its key may have come when it was not in memory, and it may itself have come when the
 * one before was not. */
export function replaceLoaded(context: StepContext, job: Job, key: string): void {
  const known = context.state.debouncedWhileLoading?.get(key) ?? [];
  const at = known.lastIndexOf(job);
  const [before, after] = [known[at - 1], known[at + 1]];
  if (after !== undefined) replaceOlder(context, job, after);
  if (before !== undefined) replaceOlder(context, before, job);
}

function replaceOlder(context: StepContext, older: Job, newer: Job): void {
  // One that was asked for again runs because of that.
  if (older.run > 1) return;
  const { firstAt } = newer.options;
  // Those that the newer one has replaced would have replaced the older one, too.
  const since = firstAt !== null && firstAt > older.createdAt ? firstAt : newer.createdAt;
  if (isPendingAt(older, since)) replace(context, older, newer.id);
}

function isPendingAt({ state, stopping, runAt }: Job, at: Instant): boolean {
  return state === 'queued' && stopping === null && runAt !== null && runAt > at;
}

function replace(context: StepContext, job: Job, by: JobId): void {
  stopJob(context, job, 'cancel', { code: 'superseded', message: `job ${by} has replaced it` });
}
