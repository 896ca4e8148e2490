/** Turns faults of the child into errors. */
import { MillraceError } from '../../../scheduler/core/index.ts';
import { Undistributable } from '../../plan/index.ts';
import type { Fault } from '../messages.ts';

export function errorOf({ code, what, why, todo }: Fault): MillraceError {
  return new MillraceError({
    code: code === 'interrupted' ? 'shutting_down' : code,
    what,
    why,
    todo,
  });
}

export function crashed(how: string): MillraceError {
  return new MillraceError({
    code: 'engine_crashed',
    what: 'The DuckDB process ended unexpectedly.',
    why: how,
    todo: 'If the same query fails again, check its memory use and the kernel log.',
  });
}

/** `purpose` completes "needs more memory than there is for". */
export function exceeded(purpose: string, memoryBytes: number): MillraceError {
  const mib = Math.round(memoryBytes / 2 ** 20);
  return new MillraceError({
    code: 'out_of_memory',
    what: `The query needs more memory than the ${mib} MiB available for ${purpose}.`,
    why: 'The DuckDB process was killed when it exceeded its limit.',
    todo: 'Make the query build smaller lists and strings at a time, or raise the limit.',
  });
}

export function crowded(purpose: string): MillraceError {
  return new MillraceError({
    code: 'overloaded',
    what: `Too many slow or large queries are waiting for ${purpose}.`,
    todo: 'Submit it again later.',
  });
}

export function closedError(): MillraceError {
  return new MillraceError({ code: 'shutting_down', what: 'The engine is closed.' });
}

/** Writes SQL for input from outside: an unknown type there is not a bug. */
export function written<T>(write: () => T): T {
  try {
    return write();
  } catch (error) {
    if (!(error instanceof Undistributable)) throw error;
    const what = `The query cannot be written as SQL for the engine: ${error.message}.`;
    throw new MillraceError({ code: 'unimplemented', what, cause: error });
  }
}
