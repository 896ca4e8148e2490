/** Turns an unsuccessful response, or none, into the error that a caller gets. */
import type { IncomingHttpHeaders } from 'node:http';
import {
  type ErrorCode,
  type LeaderAddress,
  MillraceError,
  isObject,
} from '../../scheduler/core/index.ts';

/** Every error code; the compiler checks that none is missing. */
const CODES: Readonly<Record<ErrorCode, true>> = {
  bad_input: true,
  too_large: true,
  not_found: true,
  conflict: true,
  overloaded: true,
  not_leader: true,
  unreachable: true,
  incompatible: true,
  unimplemented: true,
  expired: true,
  loading: true,
  unknown_session: true,
  superseded: true,
  name_taken: true,
  store_unavailable: true,
  store_locked: true,
  store_version: true,
  outcome_unknown: true,
  deposed: true,
  rewound: true,
  bad_row: true,
  bad_setting: true,
  unauthenticated: true,
  forbidden: true,
  shutting_down: true,
  bad_query: true,
  query_failed: true,
  table_missing: true,
  table_changed: true,
  schema_mismatch: true,
  path_refused: true,
  out_of_memory: true,
  disk_full: true,
  engine_crashed: true,
  operator_failed: true,
  operator_invalid: true,
  input_lost: true,
  result_lost: true,
  invariant: true,
};

/** For an answer without a code that is known here: a proxy's, or a newer server's. */
const CODE_OF_STATUS: Readonly<Record<number, ErrorCode>> = {
  400: 'bad_input',
  401: 'unauthenticated',
  403: 'forbidden',
  404: 'not_found',
  405: 'unimplemented',
  408: 'overloaded',
  409: 'conflict',
  410: 'expired',
  413: 'too_large',
  422: 'bad_input',
  429: 'overloaded',
  431: 'too_large',
  501: 'unimplemented',
  502: 'unreachable',
  503: 'store_unavailable',
  504: 'outcome_unknown',
};

export function problemError(status: number, body: string, server: string): MillraceError {
  const problem = parsedObject(body);
  if (problem === null) return strangeAnswer(status, server);
  return errorFrom(problem, status);
}

/** An error as the API writes it, as a whole answer or as one item of a list. */
export function errorFrom(
  problem: Readonly<Record<string, unknown>>,
  status: number,
): MillraceError {
  const { code, detail, title, todo, why, path, leader } = problem;
  const sentence = text(detail) ?? text(title) ?? `The server answered ${status}.`;
  const where = text(path);
  // The whole message may begin with the path already; the error puts it there once more.
  const what =
    where !== undefined && sentence.startsWith(`${where}: `)
      ? sentence.slice(where.length + 2)
      : sentence;
  const address = leaderFrom(leader);
  const reason = text(why);
  const step = text(todo);
  return new MillraceError({
    code: codeFrom(code) ?? CODE_OF_STATUS[status] ?? (status < 500 ? 'bad_input' : 'invariant'),
    what,
    ...(reason === undefined || sentence.includes(reason) ? {} : { why: reason }),
    ...(step === undefined || sentence.includes(step) ? {} : { todo: step }),
    ...(where === undefined ? {} : { path: where }),
    ...(address === null ? {} : { leader: address }),
  });
}

/** The Retry-After delay; dates are not supported. */
export function retryAfterMs(headers: IncomingHttpHeaders): number | null {
  const seconds = headers['retry-after'];
  return seconds !== undefined && /^\d{1,6}$/.test(seconds) ? Number(seconds) * 1000 : null;
}

export function parsedObject(body: string): Readonly<Record<string, unknown>> | null {
  const value = parsedJson(body);
  return isObject(value) ? value : null;
}

/** `undefined` when it is not JSON. */
export function parsedJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

export function strangeAnswer(status: number, server: string): MillraceError {
  return new MillraceError({
    code: CODE_OF_STATUS[status] ?? 'incompatible',
    what: `The response from ${server} (status ${status}) does not come from a Millrace server.`,
    todo: 'Check the address.',
  });
}

const REASONS: Readonly<Record<string, string>> = {
  HPE_INVALID_CONSTANT: 'It does not speak HTTP: this may be its gRPC port.',
  ECONNREFUSED: 'The connection was refused.',
  ECONNRESET: 'The connection was closed.',
  EPIPE: 'The connection was closed.',
  ENOTFOUND: 'The host name does not exist.',
  EAI_AGAIN: 'The host name cannot be resolved at the moment.',
  ETIMEDOUT: 'The server did not respond in time.',
  EHOSTUNREACH: 'The host is unreachable.',
  ENETUNREACH: 'The network is unreachable.',
  EPROTO: 'The server does not use TLS. Use http:// instead of https://.',
};

const UNTRUSTED: ReadonlySet<string> = new Set([
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

export function unreachable(servers: string, cause: Error): MillraceError {
  const code = codeOf(cause);
  return new MillraceError({
    code: 'unreachable',
    what: `No server is reachable at ${servers}.`,
    why: REASONS[code] ?? `${cause.message}.`.replace(/\.\.$/, '.'),
    cause,
  });
}

/** A certificate that is not trusted does not become so by trying again. */
export function untrusted(server: string, cause: Error): MillraceError | null {
  if (!UNTRUSTED.has(codeOf(cause))) return null;
  return new MillraceError({
    code: 'unreachable',
    what: `The certificate of ${server} is not trusted.`,
    why: `${cause.message}.`,
    todo: 'Give the certificate of its authority with --tls-ca.',
    cause,
  });
}

export function outcomeUnknown(what: string, cause: Error): MillraceError {
  return new MillraceError({
    code: 'outcome_unknown',
    what: `The connection was lost before ${what} was answered, so it is unknown whether it took effect.`,
    todo: 'Check the state, and repeat the call if it did not.',
    cause,
  });
}

function codeOf(error: Error): string {
  const { code } = error as NodeJS.ErrnoException;
  return typeof code === 'string' ? code : '';
}

function codeFrom(value: unknown): ErrorCode | null {
  return typeof value === 'string' && Object.hasOwn(CODES, value) ? (value as ErrorCode) : null;
}

function leaderFrom(value: unknown): LeaderAddress | null {
  if (!isObject(value) || typeof value['nodeId'] !== 'string') return null;
  const { nodeId, url, grpc, epoch } = value;
  return {
    nodeId,
    url: text(url) ?? null,
    grpc: text(grpc) ?? null,
    epoch: typeof epoch === 'number' ? epoch : 0,
  };
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
