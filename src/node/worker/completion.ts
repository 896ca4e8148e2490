/**
 * Completing a task inside a transaction of the handler's own PostgreSQL. The row in
 * `millrace.completion` is there if and only if that transaction was committed, and there is one a run:
 * so what the transaction does happens once, however often the handler is run.
 */
import { MillraceError } from '../../scheduler/core/index.ts';
import { AlreadyCompletedError, FatalError, jsonText } from '../../tasks/executors/index.ts';
import type { Transaction } from '../../tasks/executors/index.ts';
import type { ReadyAssignment } from '../../scheduler/contract/index.ts';
import { tooLarge } from './payload-limit.ts';

/** Another transaction that has the row already is waited for: it may still be rolled back. */
const INSERT = `
  insert into millrace.completion (job, task, run, result)
  values ($1::text, $2::text, $3::text::integer, $4::text)
  on conflict do nothing
  returning result`;

/** `is_own`: made by the transaction that asks; `now()` is the time at which a transaction began. */
const SELECT = `
  select result, completed_at = now() as is_own from millrace.completion
  where job = $1::text and task = $2::text and run = $3::text::integer`;

interface Completed {
  readonly result: string | null;
  readonly is_own: boolean;
}

export class Completion {
  readonly #assignment: ReadyAssignment;
  readonly #signal: AbortSignal;
  #result: string | null = null;
  #isCommitted = false;

  constructor(assignment: ReadyAssignment, signal: AbortSignal) {
    this.#assignment = assignment;
    this.#signal = signal;
  }

  /** The result of the task if the handler succeeds; null for the returned value. */
  get result(): string | null {
    return this.#result;
  }

  /** The result that an earlier attempt has committed: it is final, whatever becomes of this one. */
  get committed(): string | null {
    return this.#isCommitted ? this.#result : null;
  }

  async write(transaction: Transaction, value: unknown): Promise<void> {
    checkTransaction(transaction);
    const result = jsonText(value);
    if (!result.isJson) {
      const message = `the result given to completeWith ${result.fault}`;
      throw Object.assign(new FatalError(message), { code: 'bad_result' });
    }
    const excess = tooLarge('The result given to completeWith', result.text);
    if (excess !== null) throw excess;
    this.#signal.throwIfAborted();
    const { jobId, taskId, run } = this.#assignment;
    const key = [jobId, taskId, `${run}`];
    const made = await rowsOf(transaction, INSERT, [...key, result.text]);
    if (made.length > 0) {
      this.#result = result.text;
      return;
    }
    const [found] = (await rowsOf(transaction, SELECT, key)) as Completed[];
    // Deleted between the two statements, or not to be seen in this snapshot: the next attempt will know.
    if (found === undefined) throw vanished(taskId);
    if (found.is_own && this.#result !== null && !this.#isCommitted) throw twice();
    this.#result = found.result ?? 'null';
    this.#isCommitted = true;
    throw new AlreadyCompletedError(`${taskId} of job ${jobId}`);
  }
}

async function rowsOf(
  transaction: Transaction,
  text: string,
  parameters: string[],
): Promise<unknown[]> {
  try {
    if ('unsafe' in transaction) return [...(await transaction.unsafe(text, parameters))];
    return (await transaction.query(text, parameters)).rows;
  } catch (error) {
    throw isMissing(error) ? noTable(error) : error;
  }
}

/** A pool gives every statement a connection of its own: nothing would hold them together. */
function checkTransaction(given: unknown): void {
  const isObject = (typeof given === 'object' && given !== null) || typeof given === 'function';
  const parts = isObject ? (given as Readonly<Record<string, unknown>>) : {};
  const isPool = typeof parts['begin'] === 'function' || typeof parts['totalCount'] === 'number';
  const speaks = typeof parts['unsafe'] === 'function' || typeof parts['query'] === 'function';
  if (speaks && !isPool) return;
  throw new MillraceError({
    code: 'bad_input',
    what: `completeWith was given ${isPool ? 'a pool' : 'a value that is not a transaction'}.`,
    todo: 'Pass the transaction: the argument of `sql.begin` of postgres, or a client of pg after BEGIN.',
  });
}

/** Undefined table, unknown schema. */
const MISSING: ReadonlySet<unknown> = new Set(['42P01', '3F000']);

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && MISSING.has(error.code);
}

function noTable(cause: unknown): MillraceError {
  return new MillraceError({
    code: 'bad_input',
    what: 'The database of this transaction has no table millrace.completion.',
    why: 'The table exists in the database of Millrace; in any other database it has to be created.',
    todo:
      'Run there: create schema if not exists millrace; create table millrace.completion (job text, ' +
      'task text, run integer, result text, completed_at timestamptz not null default now(), ' +
      'primary key (job, task, run));',
    cause,
  });
}

function twice(): MillraceError {
  return new MillraceError({
    code: 'bad_input',
    what: 'completeWith was called twice in one transaction.',
    todo: 'Call it once, as the last statement before the commit.',
  });
}

function vanished(taskId: string): Error {
  return new Error(`the record that task ${taskId} is completed has just been deleted`);
}
