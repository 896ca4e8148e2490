/** What DuckDB says, in the words of the port. */
import { isMillraceError, MillraceError } from '../../core/index.ts';
import { badRow } from '../row-checks.ts';

const textOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));

/** A statement before COMMIT failed: the transaction is rolled back and nothing was changed. */
export function refused(cause: unknown): MillraceError {
  if (isMillraceError(cause)) return cause;
  const text = textOf(cause);
  // The appender says it without the name of the error.
  if (/(Constraint|Conversion|Out of Range) Error|constraint failed/.test(text)) {
    return badRow('a row', text.trimEnd().replace(/\.$/, ''), cause);
  }
  return unavailable(cause);
}

/** After such a failure DuckDB refuses every statement until its file is opened again. */
export function isInvalidated({ why = '' }: MillraceError): boolean {
  return /has been invalidated|must be restarted/.test(why);
}

const FREE_SPACE = 'Free space on it. The node continues by itself when there is room.';
const FULL_DISK = /no space left on device|disk quota exceeded/i;

/** What DuckDB says of a file whose content it cannot make sense of. */
const DAMAGE = /corrupt|checksum|could not read enough bytes|Serialization Error/i;

export function damaged(path: string, why: string, cause?: unknown): MillraceError {
  return new MillraceError({
    code: 'store_unavailable',
    what: `The store ${path} is damaged: ${why}.`,
    why: 'Parts of it were lost, or it was copied without its log or journal, or while in use. Nothing was changed.',
    todo: 'Restore the file, its log (.wal) and its journal (.journal-0, .journal-1) together from a backup of the stopped node. To start empty, move all of them away.',
    cause,
  });
}

export function unavailable(cause: unknown): MillraceError {
  if (isMillraceError(cause)) return cause;
  if (DAMAGE.test(textOf(cause))) return damaged('file', textOf(cause).trim(), cause);
  const why = textOf(cause);
  const isFull = FULL_DISK.test(why);
  return new MillraceError({
    code: 'store_unavailable',
    what: isFull
      ? 'The disk of the DuckDB file is full.'
      : 'The DuckDB file could not be read or written.',
    why,
    todo: isFull ? FREE_SPACE : 'Check for a full disk or missing permissions, then start again.',
    cause,
  });
}

/** COMMIT itself failed: the log may or may not have reached the disk. */
export function unknownOutcome(cause: unknown): MillraceError {
  const why = textOf(cause);
  const isFull = FULL_DISK.test(why);
  return new MillraceError({
    code: 'outcome_unknown',
    what: isFull
      ? 'The disk of the DuckDB file is full. It is unknown whether the last batch was committed.'
      : 'It is unknown whether the last batch was committed.',
    why,
    todo: isFull ? FREE_SPACE : 'Discard the state in memory and load it again.',
    cause,
  });
}

export function locked(path: string, cause?: unknown): MillraceError {
  const holder = cause === undefined ? null : /PID (\d+)/.exec(textOf(cause));
  const who = holder === null ? 'this process' : `the process ${holder[1]}`;
  return new MillraceError({
    code: 'store_locked',
    what: `The store ${path} is already open in ${who}.`,
    why: 'A DuckDB file belongs to one process at a time.',
    todo: 'Stop that process, or use PostgreSQL (--database) to run several.',
    cause,
  });
}
