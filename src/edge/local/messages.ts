/** Calls between two threads of a process, as they pass through a message port. */
import { type ErrorParts, isMillraceError, MillraceError } from '../../scheduler/core/index.ts';

/**
 * Calls, one behind the other: a number, the name of the method and its arguments for each. Without a name the caller of
 * that number waits no longer. Flat lists, because each list or object that is copied between threads has its cost.
 */
export type Sent = readonly unknown[];
/** A number, whether there is an answer, and the answer or what the error is made of. */
export type Answered = readonly unknown[];

/** Items of a call, and of an answer. */
export const ITEMS = 3;

/** One call or answer after the other. */
export function* eachIn(list: readonly unknown[]): Generator<readonly unknown[]> {
  for (let at = 0; at < list.length; at += ITEMS) yield list.slice(at, at + ITEMS);
}

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
