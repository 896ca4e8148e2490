/** Turns what a handler throws into a failure of its task. */
import { durationMs, type Duration } from '../../kit/index.ts';
import { isMillraceError } from '../../scheduler/core/index.ts';
import type { FailureClass, LostOutput, TaskError } from '../../scheduler/core/index.ts';

/** Thrown by a handler whose task should not be retried. */
export class FatalError extends Error {
  override readonly name: string = 'FatalError';
  readonly failure = 'fatal';
}

/** The longest delay before a retry. */
const RETRY_AFTER_MS_MAX = 30 * 24 * 3_600 * 1_000;

/** Thrown by a handler that knows when to try again: its next attempt begins then, not after the back-off. */
export class RetryAfterError extends Error {
  override readonly name: string = 'RetryAfterError';
  readonly retryAfterMs: number;

  /** `after` is a time, milliseconds from now, or text such as '90s'. */
  constructor(message: string, after: Duration | Date, options?: ErrorOptions) {
    super(message, options);
    this.retryAfterMs = waitOf(after) ?? badWait(after);
  }
}

function waitOf(after: Duration | Date): number | null {
  if (!(after instanceof Date)) return durationMs(after);
  const ms = after.getTime() - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : null;
}

function badWait(after: unknown): never {
  throw new TypeError(
    `'${String(after)}' is not a valid time to wait. Give a Date, milliseconds, or text such as '90s'.`,
  );
}

/** How the built-in executors fail: with a code, and whether to try again. */
export class TaskFailure extends Error {
  override readonly name = 'TaskFailure';
  readonly code: string;
  readonly failure: 'fatal' | 'retryable';
  readonly retryAfterMs: number | undefined;

  constructor(
    code: string,
    failure: 'fatal' | 'retryable',
    message: string,
    retryAfterMs?: number,
  ) {
    super(message);
    this.code = code;
    this.failure = failure;
    this.retryAfterMs = retryAfterMs;
  }
}

/** Thrown by an executor whose work names an operator that this worker does not have. */
export class MissingOperatorError extends Error {
  override readonly name = 'MissingOperatorError';
  readonly code = 'missing_operator';
  readonly failure = 'missing';
  readonly missing: string;
  readonly why: string | null;

  /** The message has the words that people search their logs for; `why` is only logged. */
  constructor(operator: string, why?: string) {
    super(`custom physical operator '${operator}' is not registered on worker`);
    this.why = why ?? null;
    this.missing = operator;
  }
}

/**
 * Thrown by an executor that cannot read what earlier tasks have made. It is not a failure of the task: those
 * outputs are recomputed, and then it runs once more.
 */
export class InputLostError extends Error {
  override readonly name = 'InputLostError';
  readonly code = 'input_lost';
  readonly lost: readonly LostOutput[];

  constructor(lost: readonly LostOutput[], message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.lost = lost;
  }
}

export interface Failure {
  readonly error: TaskError;
  readonly failure: FailureClass;
  /** For `missing`: what the worker lacks. */
  readonly missing?: string;
  /** For `retryable`: how long to wait before the next attempt, instead of the back-off. */
  readonly retryAfterMs?: number;
  /** What it could not read: then it has not failed, but waits for that. */
  readonly lost?: readonly LostOutput[];
}

const CODE_FOR_ANY = 'error';

/**
 * Anything can be thrown. An error is retryable unless it carries `failure: 'fatal'`; a `code` that is
 * text becomes the code of the task's error, so that people can tell failures apart.
 */
export function classifyFailure(thrown: unknown): Failure {
  try {
    return classified(thrown);
  } catch {
    // A proxy can throw at every look.
    return { error: { code: CODE_FOR_ANY, message: UNSHOWABLE }, failure: 'retryable' };
  }
}

function classified(thrown: unknown): Failure {
  if (!isRecord(thrown)) {
    return { error: { code: CODE_FOR_ANY, message: described(thrown) }, failure: 'retryable' };
  }
  const code = textOf(thrown, 'code') ?? CODE_FOR_ANY;
  const error = { code, message: messageOf(thrown) };
  const missing = textOf(thrown, 'missing');
  if (thrown instanceof InputLostError && thrown.lost.length > 0) {
    return { error, failure: 'retryable', lost: thrown.lost };
  }
  switch (read(thrown, 'failure')) {
    case 'fatal':
      return { error, failure: 'fatal' };
    case 'missing':
      return { error, failure: 'missing', ...(missing === undefined ? {} : { missing }) };
    default:
      if (isOfNoUse(thrown)) return { error, failure: 'fatal' };
      return { error, failure: 'retryable', ...waitIn(thrown) };
  }
}

/** Any error may carry it, as those of other libraries do. */
function waitIn(thrown: Readonly<Record<string, unknown>>): Pick<Failure, 'retryAfterMs'> {
  const ms = read(thrown, 'retryAfterMs');
  if (typeof ms !== 'number' || !Number.isFinite(ms) || ms < 0) return {};
  return { retryAfterMs: Math.min(Math.ceil(ms), RETRY_AFTER_MS_MAX) };
}

/** Our own refusals that no repetition changes. */
function isOfNoUse(thrown: unknown): boolean {
  return (
    isMillraceError(thrown, 'bad_input') ||
    isMillraceError(thrown, 'too_large') ||
    isMillraceError(thrown, 'unimplemented')
  );
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function messageOf(thrown: Readonly<Record<string, unknown>>): string {
  const message = textOf(thrown, 'message');
  if (message !== undefined) return message;
  const name = textOf(thrown, 'name');
  return name ?? described(thrown);
}

function textOf(thrown: Readonly<Record<string, unknown>>, field: string): string | undefined {
  const value = read(thrown, field);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Even reading may throw: what was thrown can be any object. */
function read(thrown: Readonly<Record<string, unknown>>, field: string): unknown {
  try {
    return thrown[field];
  } catch {
    return undefined;
  }
}

function described(thrown: unknown): string {
  if (thrown === undefined || thrown === null || thrown === '') {
    return `the handler threw ${thrown === '' ? 'an empty text' : String(thrown)}; ${BETTER}`;
  }
  switch (typeof thrown) {
    case 'string':
      return thrown;
    case 'function':
    case 'symbol':
      return `the handler threw a ${typeof thrown}; ${BETTER}`;
    case 'bigint':
      return `the handler threw ${thrown}`;
    case 'object':
    case 'number':
    case 'boolean':
    case 'undefined':
    default:
      try {
        return `the handler threw ${JSON.stringify(thrown)}`;
      } catch {
        return UNSHOWABLE;
      }
  }
}

const BETTER = 'throw an Error that says what went wrong';
const UNSHOWABLE = `the handler threw something that cannot be shown; ${BETTER}`;
