/**
 * Every error a person can meet has a stable code, says what happened, why, and what to do.
 * `MillraceError` is the only class thrown on purpose in this code base.
 */
export type ErrorCode =
  | 'bad_input'
  | 'too_large'
  | 'not_found'
  | 'conflict'
  | 'overloaded'
  | 'not_leader'
  | 'unreachable'
  | 'incompatible'
  | 'unimplemented'
  | 'expired'
  | 'loading'
  | 'unknown_session'
  | 'superseded'
  /** A worker with that name is connected. */
  | 'name_taken'
  | 'store_unavailable'
  | 'store_locked'
  | 'store_version'
  | 'outcome_unknown'
  | 'deposed'
  /** The store has lost commits that it had acknowledged. */
  | 'rewound'
  | 'bad_row'
  | 'bad_setting'
  | 'unauthenticated'
  | 'forbidden'
  | 'shutting_down'
  /** Query cannot be planned. */
  | 'bad_query'
  /** The data made it fail: a cast, a division, more than one row. */
  | 'query_failed'
  | 'table_missing'
  /** The files are not those that the query was planned for. */
  | 'table_changed'
  | 'schema_mismatch'
  | 'path_refused'
  | 'out_of_memory'
  | 'disk_full'
  | 'engine_crashed'
  /** A custom operator has thrown. */
  | 'operator_failed'
  /** A custom operator has returned what it does not declare. */
  | 'operator_invalid'
  /** What an earlier stage has made is gone. */
  | 'input_lost'
  | 'result_lost'
  | 'invariant';

export interface ErrorParts {
  readonly code: ErrorCode;
  /** One sentence: what happened. */
  readonly what: string;
  /** Why, if the sentence does not say it. */
  readonly why?: string | undefined;
  /** The next step for the reader. */
  readonly todo?: string | undefined;
  /** For bad input: where, as a JSON-pointer-like path (`/tasks/3/retry/maxAttempts`). */
  readonly path?: string | undefined;
  /** For `not_leader`: the leader, if known. */
  readonly leader?: LeaderAddress | undefined;
  readonly cause?: unknown;
}

/** The addresses of a leader. */
export interface LeaderAddress {
  readonly nodeId: string;
  /** By people and their tools. */
  readonly url: string | null;
  /** By nodes, as HOST:PORT. */
  readonly grpc: string | null;
  readonly epoch: number;
}

export class MillraceError extends Error {
  override readonly name = 'MillraceError';
  readonly code: ErrorCode;
  readonly what: string;
  readonly why: string | undefined;
  readonly todo: string | undefined;
  readonly path: string | undefined;
  readonly leader: LeaderAddress | undefined;

  constructor(parts: ErrorParts) {
    const where = parts.path === undefined ? '' : `${parts.path}: `;
    const text = [`${where}${parts.what}`, parts.why, parts.todo].filter(
      (part) => part !== undefined,
    );
    super(inSentences(text), parts.cause === undefined ? undefined : { cause: parts.cause });
    this.code = parts.code;
    this.what = parts.what;
    this.why = parts.why;
    this.todo = parts.todo;
    this.path = parts.path;
    this.leader = parts.leader;
  }
}

/** Behind a line that points at something in the one above it nothing else may stand. */
export function inSentences(parts: readonly string[]): string {
  return parts.reduce((text, part) => {
    if (part.startsWith('\n')) return text + part;
    return `${text}${text.includes('\n') ? '\n' : ' '}${part}`;
  });
}

/** By its name and not by its class: a module that is loaded as CommonJS has a copy of this file. */
export function isMillraceError(value: unknown, code?: ErrorCode): value is MillraceError {
  if (!(value instanceof Error) || value.name !== 'MillraceError' || !('code' in value))
    return false;
  return code === undefined || value.code === code;
}

/** A broken invariant is a bug in Millrace: stop, drop the memory, reload from the store. */
/** What was asked cannot be answered before every live job is in memory; clients ask again. */
export function stillLoading(why: string): MillraceError {
  const what = `The leader is loading its jobs, ${why}.`;
  return new MillraceError({ code: 'loading', what, todo: 'Ask again.' });
}

export function invariant(condition: boolean, what: string): asserts condition {
  if (!condition) broken(what);
}

/** For a text that is put together only when it is needed: `if (isWrong) broken(...)`. */
export function broken(what: string): never {
  throw new MillraceError({ code: 'invariant', what: `invariant broken: ${what}` });
}

export function assertNever(value: never): never {
  throw new MillraceError({ code: 'invariant', what: `unhandled case ${JSON.stringify(value)}` });
}
