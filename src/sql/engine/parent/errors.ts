/** Turns faults of the child into errors. */
import { MillraceError } from '../../../scheduler/core/index.ts';
import { Undistributable } from '../../plan/index.ts';
import type { Fault } from '../messages.ts';

export function errorOf({ code, what, why, todo }: Fault): MillraceError {
  return new MillraceError({
    code: code === 'interrupted' ? 'shutting_down' : code,
    what,
    ...(why === undefined ? {} : { why }),
    ...(todo === undefined ? {} : { todo }),
  });
}

export function crashed(how: string): MillraceError {
  return new MillraceError({
    code: 'engine_crashed',
    what: 'The process in which DuckDB ran has ended.',
    why: how,
    todo: 'If it happens again with the same query, look for its memory and for what the kernel says.',
  });
}

/** `purpose` completes "needs more memory than there is for". */
export function exceeded(purpose: string, memoryBytes: number): MillraceError {
  const mib = Math.round(memoryBytes / 2 ** 20);
  return new MillraceError({
    code: 'out_of_memory',
    what: `The query needs more memory than the ${mib} MiB that there are for ${purpose}.`,
    why: 'The process in which DuckDB ran it was ended when it had passed its limit.',
    todo: 'Let the query make smaller lists and texts at a time, or raise the limit.',
  });
}

export function crowded(purpose: string): MillraceError {
  return new MillraceError({
    code: 'overloaded',
    what: `Too many queries that take long or much memory wait for ${purpose}.`,
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
    const what = `The query cannot be written for the engine: ${error.message}.`;
    throw new MillraceError({ code: 'unimplemented', what, cause: error });
  }
}
