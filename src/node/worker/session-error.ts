/** What the error of a call means for the session. */
import { MillraceError, isMillraceError } from '../../scheduler/core/index.ts';
import type { ErrorCode } from '../../scheduler/core/index.ts';
import type { ReadyAssignment } from '../../scheduler/contract/index.ts';

/** The session has ended for the leader: only a new one helps. */
export function endsSession(error: unknown): error is MillraceError {
  return isMillraceError(error, 'unknown_session') || isMillraceError(error, 'superseded');
}

/** No repetition of the same call can succeed. */
const FINAL: ReadonlySet<ErrorCode> = new Set(['incompatible', 'bad_input', 'too_large']);

export function isFinal(error: unknown): error is MillraceError {
  return isMillraceError(error) && FINAL.has(error.code);
}

/** A wrong token at the start is a mistake to be reported; later it may be a token that is just being changed. */
export function isRefusedAtStart(error: unknown): error is MillraceError {
  return isMillraceError(error, 'unauthenticated') || isMillraceError(error, 'forbidden');
}

export function leaseLost(taskId: string): MillraceError {
  return new MillraceError({
    code: 'superseded',
    what: `Task ${taskId} is no longer assigned to this worker.`,
    todo: 'Stop it; its result would be rejected.',
  });
}

export function stopOrdered(taskId: string): MillraceError {
  return new MillraceError({
    code: 'superseded',
    what: `The leader has ordered task ${taskId} to stop.`,
    why: 'It was cancelled, timed out, or was assigned to another worker.',
  });
}

export function drainOver(taskId: string): MillraceError {
  return new MillraceError({
    code: 'shutting_down',
    what: `The worker is shutting down and task ${taskId} did not end within the grace period.`,
    why: 'It is returned to the queue and runs again elsewhere; this does not count as an attempt.',
  });
}

export function handlerStuck(
  { jobId, taskId, executor }: ReadyAssignment,
  graceMs: number,
  stuck: 'end' | 'abandon',
): MillraceError {
  return new MillraceError({
    code: 'shutting_down',
    what: `Task ${taskId} of job ${jobId} did not stop within ${graceMs} ms of its abort signal.`,
    why:
      stuck === 'end'
        ? 'Its slot can only be freed by exiting this process.'
        : 'Its slot is used for other tasks; its result is ignored.',
    todo: `Make the executor ${executor} observe its AbortSignal.`,
  });
}

export function deadlinePassed(): MillraceError {
  return new MillraceError({
    code: 'superseded',
    what: 'The leader has not answered for so long that this session may have expired.',
    todo: 'Stop all its tasks and register with a new session id.',
  });
}
