/**
 * What an executor of our own needs of its attempt, and no handler should see: it is not part of
 * `TaskContext`. A context without it works, but is never suspended well from afar.
 */
import type { TaskContext } from './executor.ts';

export interface AttemptHooks {
  /** The handler got an answer and has not yet continued: like a running step, this keeps the attempt from being
   * suspended until the returned function is called. */
  hold(): () => void;
  /** Calls `fn` once if the attempt is suspended: what it still waits for never comes. */
  onSuspended(fn: () => void): void;
  /** A signal of this name was left aside, in this wait, because it does not fit. */
  unfit(name: string, step: string, why: string): Promise<void>;
  /** Whether an earlier attempt of this run has recorded a step of this name. */
  hasStep(name: string): boolean;
}

export interface WithAttemptHooks {
  readonly attemptHooks: AttemptHooks;
}

export function attemptHooksOf(
  context: TaskContext & Partial<WithAttemptHooks>,
): AttemptHooks | undefined {
  return context.attemptHooks;
}
