/** Errors of a handler whose called job or mapped task did not succeed. Retrying does not help. */
import type { TaskError } from '../../scheduler/core/index.ts';
import { FatalError } from './failure.ts';

/** A job that `ctx.call` has submitted failed or was cancelled. */
export class ChildJobError extends FatalError {
  override readonly name = 'ChildJobError';
  readonly code = 'child_job_failed';
  readonly jobId: string;
  readonly state: string;
  /** The error of the job, as far as it is known. */
  readonly error: TaskError | null;

  constructor(jobId: string, what: string, state: string, error: TaskError | null) {
    const end = state === 'cancelled' ? 'was cancelled' : state;
    super(`the job ${jobId} (${what}) ${end}${reason(error)}`);
    this.jobId = jobId;
    this.state = state;
    this.error = error;
  }
}

/** The end of one item of a `ctx.map` that did not succeed. */
export interface FailedChild {
  readonly taskId: string;
  /** The place of its item in the list. */
  readonly index: number;
  readonly state: string;
  readonly error: TaskError | null;
}

/** Some of the tasks of a `ctx.map` did not succeed. */
export class ChildrenError extends FatalError {
  override readonly name = 'ChildrenError';
  readonly code = 'children_failed';
  /** In the order of the list. */
  readonly failed: readonly FailedChild[];

  constructor(what: string, count: number, failed: readonly FailedChild[]) {
    const [first] = failed;
    const example =
      first === undefined
        ? ''
        : `; the first is ${first.taskId}, ${first.state}${reason(first.error)}`;
    super(`${failed.length} of the ${count} tasks of ${what} did not succeed${example}`);
    this.failed = failed;
  }
}

/**
 * An earlier attempt has committed its transaction with `ctx.completeWith`. Thrown so that the
 * transaction at hand is rolled back; the task completes with what was committed.
 */
export class AlreadyCompletedError extends Error {
  override readonly name = 'AlreadyCompletedError';
  readonly code = 'already_completed';

  constructor(task: string) {
    super(`task ${task} was completed by an earlier attempt, in a transaction that was committed`);
  }
}

function reason(error: TaskError | null): string {
  return error === null ? '' : `: ${error.message} (${error.code})`;
}
