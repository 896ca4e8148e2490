/** What an error says about the session it answered. */
import { MillraceError, isMillraceError } from '../../scheduler/core/index.ts';
import type { ErrorCode } from '../../scheduler/core/index.ts';
import type { ReadyAssignment } from '../../scheduler/contract/index.ts';

/** The session is over for the leader: only a new one helps. */
export function endsSession(error: unknown): error is MillraceError {
  return isMillraceError(error, 'unknown_session') || isMillraceError(error, 'superseded');
}

/** No repetition of the same call can succeed. */
const FINAL: ReadonlySet<ErrorCode> = new Set(['incompatible', 'bad_input', 'too_large']);

export function isFinal(error: unknown): error is MillraceError {
  return isMillraceError(error) && FINAL.has(error.code);
}

/** A wrong token at the start is a mistake to be told; later it may be a token that is just being changed. */
export function isRefusedAtStart(error: unknown): error is MillraceError {
  return isMillraceError(error, 'unauthenticated') || isMillraceError(error, 'forbidden');
}

export function leaseLost(taskId: string): MillraceError {
  return new MillraceError({
    code: 'superseded',
    what: `Task ${taskId} does not belong to this worker any more.`,
    todo: 'Stop; its result would be refused.',
  });
}

export function stopOrdered(taskId: string): MillraceError {
  return new MillraceError({
    code: 'superseded',
    what: `The leader wants task ${taskId} stopped.`,
    why: 'It was cancelled, its time is up, or it was given to another worker.',
  });
}

export function drainOver(taskId: string): MillraceError {
  return new MillraceError({
    code: 'shutting_down',
    what: `The worker shuts down and task ${taskId} did not end in time.`,
    why: 'It is given back and runs again elsewhere; this counts as nothing.',
  });
}

export function handlerStuck(
  { jobId, taskId, executor }: ReadyAssignment,
  graceMs: number,
  stuck: 'end' | 'abandon',
): MillraceError {
  return new MillraceError({
    code: 'shutting_down',
    what: `Task ${taskId} of job ${jobId} was told to stop ${graceMs} ms ago and did not.`,
    why:
      stuck === 'end'
        ? 'Its slot can only be freed by ending this process.'
        : 'Its slot is given to others; what it still does is done for nobody.',
    todo: `Let the executor ${executor} heed its AbortSignal.`,
  });
}

export function deadlinePassed(): MillraceError {
  return new MillraceError({
    code: 'superseded',
    what: 'The leader has not answered for so long that this session may be over.',
    todo: 'Stop all its work and register with a new session id.',
  });
}
