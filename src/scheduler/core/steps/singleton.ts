/** Singletons: of the jobs with one key one lives at a time. */
import type { JobDocument } from '../document/document.ts';
import { MillraceError, stillLoading } from '../errors.ts';
import type { JobId } from '../ids.ts';
import type { Job } from '../job/job.ts';
import type { StepContext } from '../step-context.ts';
import { stopJob } from './stop.ts';

/**
 * What stands in the way of a new job: the one that lives with its key and stays; an error while it is not known whether
 * there is one; null if nothing does, and then the one that it replaces is being cancelled.
 */
export function makeWay(
  context: StepContext,
  id: JobId,
  { options: { singleton } }: JobDocument,
): Job | MillraceError | null {
  if (singleton === null) return null;
  const { state } = context;
  const living = state.singletons.get(singleton.key);
  if (singleton.whenBusy === 'skip' && living !== undefined) return living;
  // It may be on its way into memory.
  if (!state.isComplete) return stillLoading(WHOSE);
  if (living !== undefined && living.stopping === null) {
    const message = `job ${id} has replaced it`;
    stopJob(context, living, 'cancel', { code: 'superseded', message });
  }
  return null;
}

const WHOSE = 'one of which may have the same singleton key';

/** Why an ended job cannot run again; null if it can. */
export function singletonConflict(context: StepContext, job: Job): MillraceError | null {
  const { singleton } = job.options;
  if (singleton === null) return null;
  const living = context.state.singletons.get(singleton.key);
  if (living === job) return null;
  if (living === undefined) return context.state.isComplete ? null : stillLoading(WHOSE);
  return new MillraceError({
    code: 'conflict',
    what: `Job ${living.id} is live and has the same singleton key, ${singleton.key}.`,
    todo: 'Wait for its end, or cancel it.',
  });
}

/** A job that a task calls or submits has an id that the task knows: it neither answers for another one nor replaces it. */
export function asCalled(document: JobDocument): JobDocument {
  return {
    ...document,
    // Its id identifies it; a key could make it another user's.
    idempotencyKey: null,
    options: { ...document.options, singleton: null },
  };
}
