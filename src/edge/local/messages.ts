/** Calls between two threads of a process, as they pass through a message port. */
import { type ErrorParts, isMillraceError, MillraceError } from '../../scheduler/core/index.ts';

/** A call by its number, or with a number alone: its caller waits no longer. */
export type Sent =
  | readonly [no: number, method: string, args: unknown]
  | readonly [cancelled: number];

export type Answered =
  | readonly [no: number, ok: true, value: unknown]
  | readonly [no: number, ok: false, error: ErrorParts];

/** Only plain values travel between threads. */
export function errorParts(error: unknown): ErrorParts {
  if (!isMillraceError(error)) {
    return { code: 'invariant', what: error instanceof Error ? error.message : String(error) };
  }
  const { code, what, why, todo, path, leader } = error;
  return { code, what, why, todo, path, leader };
}

/** The thread at the other end has ended, or was asked to. */
export function portClosed(): MillraceError {
  return new MillraceError({
    code: 'unreachable',
    what: 'The node of this process has ended.',
    todo: 'Start it again; everything committed is in its store.',
  });
}
