/** What a failure of PostgreSQL or of the way to it means, in the words of the port. */
import postgres from 'postgres';
import { isMillraceError, MillraceError } from '../../core/index.ts';
import { badRow } from '../row-checks.ts';
import { deposed, rewound } from '../refusals.ts';
import type { Term } from '../store.ts';

/** The connection could not be made, or nothing was sent: nothing was changed. */
export function unavailable(cause: unknown): MillraceError {
  if (isMillraceError(cause)) return cause;
  return new MillraceError({
    code: 'store_unavailable',
    what:
      cause instanceof postgres.PostgresError
        ? `PostgreSQL refused: ${messageOf(cause)}.`
        : `PostgreSQL is not available: ${messageOf(cause)}.`,
    why: 'Nothing was changed.',
    todo: 'Check the server and the --database URL, then try again.',
    cause: bare(cause),
  });
}

export function migrationFailure(cause: unknown): MillraceError {
  if (!isRefusal(cause)) return unavailable(cause);
  return new MillraceError({
    code: 'store_version',
    what: `The database could not be migrated: ${messageOf(cause)}.`,
    why: 'It is as it was before this step.',
    todo: 'The role needs permission to create the schema "millrace" and its objects.',
    cause: bare(cause),
  });
}

/**
 * A statement was sent and failed. After an ERROR it is undone, whatever the reason; after a FATAL
 * one, a closed connection or silence it may have been committed.
 */
export function writeFailure(cause: unknown, term?: Term, commitNo = 0): MillraceError {
  if (isMillraceError(cause)) return cause;
  if (isRefusal(cause)) {
    if (cause.code === 'MR003' && term !== undefined) {
      return rewound(term, commitNo, Number(/\d+/.exec(cause.message)?.[0] ?? 0));
    }
    if (cause.code === 'MR001' && term !== undefined) return deposed(term);
    if (isAboutData(cause.code)) return badRow(rowOf(cause), cause.message, bare(cause));
    if (isPassing(cause.code)) return unavailable(cause);
  }
  return new MillraceError({
    code: 'outcome_unknown',
    what: `The answer to a write was lost: ${messageOf(cause)}.`,
    why: 'It may have been committed, or may be yet.',
    todo: 'Resign, campaign again and reload: the new epoch fences out writes that are still in flight.',
    cause: bare(cause),
  });
}

/** A fold that starts from another commit than the tables are at. */
export function isElsewhere(cause: unknown): boolean {
  return isRefusal(cause) && cause.code === 'MR004';
}

/** Whether the connection is of no more use, as opposed to the statement. */
export function breaksConnection(cause: unknown): boolean {
  if (isMillraceError(cause)) return false;
  // A standby refuses to write: after a fail-over the next connection may reach the new primary.
  return !isRefusal(cause) || cause.code === READ_ONLY;
}

/** PostgreSQL has said ERROR, and with it that the statement is undone. */
function isRefusal(cause: unknown): cause is postgres.PostgresError {
  return cause instanceof postgres.PostgresError && cause.severity === 'ERROR';
}

/** Classes 21 (one row twice), 22 (data), 23 (constraints), 54 (limits of PostgreSQL), and our own refusal. */
function isAboutData(code: string): boolean {
  return code === 'MR002' || /^(21|22|23|54)/.test(code);
}

const LOCK_NOT_AVAILABLE = '55P03';
const READ_ONLY = '25006';

/** Deadlock, no lock, no disk, no memory, a standby: the same statement may succeed later. */
function isPassing(code: string): boolean {
  return /^(40|53|58)/.test(code) || code === LOCK_NOT_AVAILABLE || code === READ_ONLY;
}

/** The row itself may hold secrets, so only the table and the broken rule are named. */
function rowOf({ table_name: table, constraint_name: constraint }: postgres.PostgresError): string {
  if (!table) return 'a row';
  return constraint ? `a row of ${table} (${constraint})` : `a row of ${table}`;
}

/** The driver hangs the statement and all its parameters on an error: payloads, megabytes of them. */
function bare(cause: unknown): Error {
  const error = new Error(messageOf(cause));
  if (!(cause instanceof Error)) return error;
  const { code, severity, constraint_name, routine } = cause as Partial<postgres.PostgresError>;
  return Object.assign(error, { name: cause.name, code, severity, constraint_name, routine });
}

function messageOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  const code = (cause as NodeJS.ErrnoException).code;
  // Connecting to a name with several addresses fails with one error for all, which has no message.
  return cause.message === '' ? String(code) : cause.message;
}
