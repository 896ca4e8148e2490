/** The port between a worker and what it runs. */
import type { JobId, Json, TaskId } from '../core/index.ts';

/**
 * Runs the tasks that name it. What `run` returns is the task's result and must be JSON; what it throws
 * fails the attempt, which is tried again unless the error says that it is fatal.
 */
export interface Executor {
  readonly name: string;
  run(input: Json, context: TaskContext): unknown;
}

/** What a module exports: `defineTask` makes such objects, and so may anybody by hand. */
export interface TaskDefinition extends Executor {
  readonly kind: 'millrace.task';
}

/** One attempt as its handler sees it. */
export interface TaskContext {
  /** Aborts when the work is not wanted any more; its reason is a `MillraceError`. */
  readonly signal: AbortSignal;
  readonly jobId: JobId;
  readonly taskId: TaskId;
  readonly attempt: number;
  /** Grows when the job is run again. */
  readonly run: number;
  /** Grows with every assignment of the task: whoever keeps the highest one refuses stale writers. */
  readonly fence: number;
  /** The same over all attempts of a run. */
  readonly idempotencyKey: string;
  /** From 0 to 1. Only the latest word counts, so it may be called as often as one likes. */
  readonly progress: (fraction: number, note?: string) => void;
  /**
   * Runs `fn` once a run: when an attempt has finished a step, the attempts after it get its recorded
   * result. It comes back as JSON the first time too, so that no attempt sees another value.
   */
  readonly step: <T>(name: string, fn: () => T | Promise<T>) => Promise<T>;
  /** Gives the slot away and goes on after `ms`, perhaps on another node. */
  readonly sleep: (name: string, ms: number) => Promise<void>;
  readonly log: TaskLog;
}

/** For people: it decides nothing and is not kept with the task. */
export interface TaskLog {
  debug(message: string): void;
  info(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}
