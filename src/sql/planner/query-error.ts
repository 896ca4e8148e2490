/** The error of a failed query, for a client that asks for its rows. */
import { MillraceError } from '../../scheduler/core/index.ts';
import type { ErrorCode, JobId, TaskError } from '../../scheduler/core/index.ts';

/** Codes that tell a user what to do. For any other code the message has to do. */
const PUBLIC_CODES: ReadonlySet<string> = new Set<ErrorCode>([
  'query_failed',
  'table_changed',
  'table_missing',
  'schema_mismatch',
  'path_refused',
  'out_of_memory',
  'disk_full',
]);

export function failureOf(id: JobId, error: TaskError | null): MillraceError {
  const { code = 'unknown', message = 'No reason was recorded.' } = error ?? {};
  if (PUBLIC_CODES.has(code)) return new MillraceError({ code: code as ErrorCode, what: message });
  return new MillraceError({
    code: 'query_failed',
    what: `The query ${id} failed (${code}): ${message}`,
  });
}
