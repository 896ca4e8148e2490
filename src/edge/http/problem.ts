/** Errors as people and their tools see them: `application/problem+json` with a stable code. */
import { inSentences, isMillraceError } from '../../scheduler/core/index.ts';
import type { ErrorCode, LeaderAddress, MillraceError } from '../../scheduler/core/index.ts';
import { HttpRefusal, SLUG_STATUS } from './refusal.ts';
import type { HttpSlug } from './refusal.ts';

export type ProblemCode = ErrorCode | HttpSlug;

export interface Problem {
  readonly code: ProblemCode;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  /** For bad input: where, as a pointer into the body or `?name` of a parameter. */
  readonly path?: string;
  readonly todo?: string;
  /** For `not_leader`: the leader to ask, if known. */
  readonly leader?: LeaderAddress | null;
}

/** What a caller can do about each kind of error decides its status. */
const KINDS: Readonly<Record<ErrorCode, { readonly status: number; readonly title: string }>> = {
  bad_input: { status: 400, title: 'Bad input' },
  bad_row: { status: 400, title: 'Data cannot be stored' },
  too_large: { status: 413, title: 'Too large' },
  not_found: { status: 404, title: 'Not found' },
  conflict: { status: 409, title: 'Conflict' },
  superseded: { status: 409, title: 'Superseded' },
  name_taken: { status: 409, title: 'Name taken' },
  unknown_session: { status: 409, title: 'Unknown session' },
  incompatible: { status: 409, title: 'Incompatible' },
  expired: { status: 410, title: 'Gone' },
  unauthenticated: { status: 401, title: 'Not authenticated' },
  forbidden: { status: 403, title: 'Forbidden' },
  unimplemented: { status: 501, title: 'Not implemented' },
  overloaded: { status: 503, title: 'Overloaded' },
  not_leader: { status: 503, title: 'Not the leader' },
  deposed: { status: 503, title: 'No longer the leader' },
  rewound: { status: 503, title: 'No longer the leader' },
  loading: { status: 503, title: 'Not ready yet' },
  unreachable: { status: 503, title: 'Not reachable' },
  shutting_down: { status: 503, title: 'Shutting down' },
  store_unavailable: { status: 503, title: 'Database not available' },
  store_locked: { status: 503, title: 'Database is in use' },
  store_version: { status: 503, title: 'Database version mismatch' },
  outcome_unknown: { status: 503, title: 'Outcome unknown' },
  bad_setting: { status: 500, title: 'Wrong setting' },
  bad_query: { status: 400, title: 'Query cannot be planned' },
  query_failed: { status: 422, title: 'Query failed' },
  table_missing: { status: 400, title: 'Table or file not found' },
  table_changed: { status: 409, title: 'Files have changed' },
  schema_mismatch: { status: 400, title: 'Files are incompatible' },
  path_refused: { status: 403, title: 'Path not allowed' },
  out_of_memory: { status: 507, title: 'Out of memory' },
  disk_full: { status: 507, title: 'Disk full' },
  engine_crashed: { status: 500, title: 'Query engine crashed' },
  operator_failed: { status: 500, title: 'A custom operator failed' },
  operator_invalid: { status: 500, title: 'A custom operator returned invalid rows' },
  input_lost: { status: 500, title: 'Input lost' },
  result_lost: { status: 410, title: 'Result lost' },
  invariant: { status: 500, title: 'Internal error' },
};

const SLUG_TITLE: Readonly<Record<HttpSlug, string>> = {
  method_not_allowed: 'Method not allowed',
  unsupported_media_type: 'Unsupported media type',
  request_timeout: 'Request timeout',
  headers_too_large: 'Headers too large',
  bad_request: 'Bad request',
};

const RETRY_AFTER_S = '1';

/** Any other error is internal: its text goes to the log, not to the caller. */
export function problemOf(error: unknown): Problem {
  if (!isMillraceError(error) || KINDS[error.code].status === 500) {
    return {
      code: 'invariant',
      title: KINDS.invariant.title,
      status: 500,
      detail: 'Internal error. See the log of the server.',
    };
  }
  const { status, title, code } = kindOf(error);
  return {
    code,
    title,
    status,
    detail: inSentences(error.why === undefined ? [error.what] : [error.what, error.why]),
    ...(error.path === undefined ? {} : { path: error.path }),
    ...(error.todo === undefined ? {} : { todo: error.todo }),
    ...(error.code === 'not_leader' ? { leader: error.leader ?? null } : {}),
  };
}

function kindOf(error: MillraceError): Pick<Problem, 'status' | 'title' | 'code'> {
  if (!(error instanceof HttpRefusal)) return { ...KINDS[error.code], code: error.code };
  const { slug } = error;
  return { code: slug, title: SLUG_TITLE[slug], status: SLUG_STATUS[slug] };
}

export function problemHeaders(error: unknown, problem: Problem): Record<string, string> {
  const { status } = problem;
  return {
    'content-type': 'application/problem+json',
    ...(status === 503 ? { 'retry-after': RETRY_AFTER_S } : {}),
    ...(status === 401 ? { 'www-authenticate': 'Bearer realm="millrace"' } : {}),
    ...(error instanceof HttpRefusal ? error.headers : {}),
  };
}
