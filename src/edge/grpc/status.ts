/**
 * Errors on the wire: a gRPC status that any client understands, and beside it the whole error in a
 * binary trailer, so that ours throw again what was thrown. No cause and no stack travels.
 */
import { Metadata, status as Status } from '@grpc/grpc-js';
import type { ServiceError, StatusObject } from '@grpc/grpc-js';
import { MillraceError } from '../../scheduler/core/index.ts';
import type { ErrorCode } from '../../scheduler/core/index.ts';
import { fromWireLeader, toWireLeader } from './codec/leader.ts';
import { ErrorDetail } from './gen/millrace/v1/types.ts';

const ERROR_TRAILER = 'millrace-error-bin';

const STATUS_OF: Readonly<Record<ErrorCode, Status>> = {
  bad_input: Status.INVALID_ARGUMENT,
  too_large: Status.RESOURCE_EXHAUSTED,
  overloaded: Status.RESOURCE_EXHAUSTED,
  not_found: Status.NOT_FOUND,
  unknown_session: Status.NOT_FOUND,
  conflict: Status.FAILED_PRECONDITION,
  superseded: Status.FAILED_PRECONDITION,
  name_taken: Status.ALREADY_EXISTS,
  incompatible: Status.FAILED_PRECONDITION,
  bad_setting: Status.FAILED_PRECONDITION,
  store_version: Status.FAILED_PRECONDITION,
  not_leader: Status.UNAVAILABLE,
  unreachable: Status.UNAVAILABLE,
  loading: Status.UNAVAILABLE,
  store_unavailable: Status.UNAVAILABLE,
  store_locked: Status.UNAVAILABLE,
  shutting_down: Status.UNAVAILABLE,
  deposed: Status.UNAVAILABLE,
  rewound: Status.UNAVAILABLE,
  outcome_unknown: Status.UNAVAILABLE,
  expired: Status.OUT_OF_RANGE,
  unauthenticated: Status.UNAUTHENTICATED,
  forbidden: Status.PERMISSION_DENIED,
  unimplemented: Status.UNIMPLEMENTED,
  bad_row: Status.INTERNAL,
  bad_query: Status.INVALID_ARGUMENT,
  query_failed: Status.FAILED_PRECONDITION,
  table_missing: Status.INVALID_ARGUMENT,
  table_changed: Status.FAILED_PRECONDITION,
  schema_mismatch: Status.INVALID_ARGUMENT,
  path_refused: Status.PERMISSION_DENIED,
  out_of_memory: Status.RESOURCE_EXHAUSTED,
  disk_full: Status.RESOURCE_EXHAUSTED,
  engine_crashed: Status.INTERNAL,
  operator_failed: Status.INTERNAL,
  operator_invalid: Status.INTERNAL,
  input_lost: Status.DATA_LOSS,
  result_lost: Status.DATA_LOSS,
  invariant: Status.INTERNAL,
};

/** When it is worth while to ask again, for clients that are not ours. */
const RETRY_AFTER_MS: Partial<Record<ErrorCode, number>> = {
  not_leader: 200,
  loading: 200,
  overloaded: 500,
  store_unavailable: 1_000,
};

/** Trailers are headers, and those are limited: a long text is cut. The plain one takes more room. */
const TEXT_LENGTH_MAX = 2_000;
const DETAILS_LENGTH_MAX = 500;

/** Half a surrogate pair, given or made by the cut, has no place in a header: gRPC would throw. */
function cut(text: string | undefined, lengthMax = TEXT_LENGTH_MAX): string {
  return Buffer.from((text ?? '').slice(0, lengthMax), 'utf8').toString('utf8');
}

export function errorToDetail(error: MillraceError): ErrorDetail {
  return {
    code: error.code,
    what: cut(error.what),
    why: cut(error.why),
    todo: cut(error.todo),
    path: cut(error.path),
    leader: toWireLeader(error.leader),
    retryAfterMs: RETRY_AFTER_MS[error.code] ?? 0,
  };
}

export function errorFromDetail(detail: ErrorDetail, cause?: unknown): MillraceError {
  const { code, what, why, todo, path } = detail;
  const leader = fromWireLeader(detail.leader);
  return new MillraceError({
    code: isErrorCode(code) ? code : 'invariant',
    what: what === '' ? 'The call was refused without a reason.' : what,
    ...(why === '' ? {} : { why }),
    ...(todo === '' ? {} : { todo }),
    ...(path === '' ? {} : { path }),
    ...(leader === null ? {} : { leader }),
    cause,
  });
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(STATUS_OF, code);
}

/** Anything that was thrown, as the caller may see it. */
export function asMillraceError(thrown: unknown): MillraceError {
  if (thrown instanceof MillraceError) return thrown;
  return new MillraceError({
    code: 'invariant',
    what: 'The node failed with an internal error.',
    todo: 'See its log.',
    cause: thrown,
  });
}

export function statusOf(thrown: unknown): StatusObject {
  const error = asMillraceError(thrown);
  const metadata = new Metadata();
  const bytes = ErrorDetail.encode(errorToDetail(error)).finish();
  metadata.set(ERROR_TRAILER, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  return { code: STATUS_OF[error.code], details: cut(error.message, DETAILS_LENGTH_MAX), metadata };
}

/** The error of a failed call, as it was thrown at the other end. */
export function errorOfStatus(failure: ServiceError, peer: string): MillraceError {
  const trailer = failure.metadata.get(ERROR_TRAILER)[0];
  if (trailer !== undefined && typeof trailer !== 'string') {
    try {
      return errorFromDetail(ErrorDetail.decode(trailer), failure);
    } catch {
      // Not our trailer after all: the status has to do.
    }
  }
  return new MillraceError({
    code: bareCode(failure),
    what: `The call to ${peer} failed: ${failure.details}.`,
    cause: failure,
  });
}

/** For a status that no handler has set: from the network, gRPC itself, or something between. */
function bareCode({ code, details }: ServiceError): ErrorCode {
  switch (code) {
    case Status.UNAVAILABLE:
    case Status.DEADLINE_EXCEEDED:
    case Status.CANCELLED:
    case Status.ABORTED:
      return 'unreachable';
    case Status.INTERNAL:
      // A connection that breaks in the middle of a call is reported like this.
      return details.includes('RST_STREAM') ? 'unreachable' : 'invariant';
    case Status.RESOURCE_EXHAUSTED:
      return /larger than/.test(details) ? 'too_large' : 'overloaded';
    case Status.INVALID_ARGUMENT:
      return 'bad_input';
    case Status.UNIMPLEMENTED:
      return 'unimplemented';
    case Status.UNAUTHENTICATED:
      return 'unauthenticated';
    case Status.PERMISSION_DENIED:
      return 'forbidden';
    case Status.OK:
    case Status.UNKNOWN:
    case Status.NOT_FOUND:
    case Status.ALREADY_EXISTS:
    case Status.FAILED_PRECONDITION:
    case Status.OUT_OF_RANGE:
    case Status.DATA_LOSS:
      return 'invariant';
  }
}
