/**
 * Batches: jobs with one key that come shortly after each other are executed together. They share an execution key, so
 * the first of them runs and its result is that of all; when it runs it is given their inputs as well. What is stored
 * is each job by itself.
 */
import type { JobDocument } from '../document/document.ts';
import { later } from '../ids.ts';
import type { Instant, JobId } from '../ids.ts';
import { batchKey, isBatchScope } from '../job/execution-key.ts';
import type { Job } from '../job/job.ts';
import type { TaskRef } from '../rows.ts';
import { batchId } from '../state.ts';
import type { SchedulerState } from '../state.ts';
import type { StepContext } from '../step-context.ts';
import type { Slot } from '../task/table.ts';
import type { Start } from './debounce.ts';
import { owns } from './keys.ts';

/** The document of a new job in the batch that it begins or joins, and when it starts. */
export function inBatch(
  { state, now }: StepContext,
  id: JobId,
  document: JobDocument,
): { readonly document: JobDocument; readonly start: Start } | null {
  const { batch } = document.options;
  const [task] = document.tasks;
  if (batch === null || task === undefined) return null;
  const first = state.batches.get(batchId(batch.key, task.executor));
  const isJoining = first !== undefined && isOpen(first, now);
  const idempotencyKey = batchKey(isJoining ? first.id : id);
  return {
    document: { ...document, tasks: [{ ...task, idempotencyKey }] },
    start: isJoining
      ? { runAt: null, firstAt: null, batchOf: first.id }
      : { runAt: later(now, batch.ms), firstAt: null },
  };
}

/** Whether a job may still join the batch that this one has begun. */
function isOpen({ state, stopping, runAt, isFull }: Job, now: Instant): boolean {
  return state === 'queued' && stopping === null && !isFull && runAt !== null && runAt > now;
}

/** The job that has begun the batch, when this one has made it full. */
export function fullBatch({ batches, tasks }: SchedulerState, job: Job): Job | null {
  const [slot] = job.slots;
  const first = batches.get(job.batchId ?? '');
  if (slot === undefined || first === undefined) return null;
  if (first !== job && first.id !== job.options.batchOf) return null;
  const size = tasks.key(slot)?.tasks ?? 0;
  return size < (first.options.batch?.max ?? Infinity) ? null : first;
}

const NONE: readonly Slot[] = [];

/** The other tasks of the batch that this one executes. */
export function membersOf(state: SchedulerState, slot: Slot): readonly Slot[] {
  const { tasks } = state;
  const key = tasks.key(slot);
  if (key === null || key.waiters.size === 0 || !owns(state, key, slot)) return NONE;
  return isBatchScope(key, tasks.requirement(slot).executor) ? [...key.waiters] : NONE;
}

/** In the order in which they came; null while some of them may still be on their way into memory. */
export function memberRefs(state: SchedulerState, slot: Slot): readonly TaskRef[] | null {
  const { tasks } = state;
  if (!state.isComplete) return null;
  const refs = membersOf(state, slot).map((each) => ({
    jobNo: tasks.job(each).no,
    taskNo: tasks.no(each),
  }));
  return refs.toSorted((a, b) => a.jobNo - b.jobNo);
}
