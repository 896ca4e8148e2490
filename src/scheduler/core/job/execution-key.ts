import type { JobId } from '../ids.ts';
import type { TaskRef } from '../rows.ts';
import type { Slot } from '../task/table.ts';

/**
 * A user's idempotency key while some task in memory names it. Keys that no live task names are
 * the store's business: it is asked at submit. Scope is executor and key, so two executors may
 * use the same key for different things.
 */
export class ExecutionKey {
  readonly scope: string;
  completed: boolean;
  /** The task that executes under this key. By name, since its job may still be loading. */
  owner: TaskRef | null = null;
  /** Tasks that are ready but for this key, oldest first. */
  readonly waiters: Set<Slot> = new Set();
  /** Tasks in memory that name it. */
  tasks = 0;

  constructor(scope: string, completed: boolean) {
    this.scope = scope;
    this.completed = completed;
  }
}

const BATCH_PREFIX = '$batch/';

/** The key under which the jobs of a batch are executed once; `first` is the job that began it. */
export function batchKey(first: JobId): string {
  return `${BATCH_PREFIX}${first}`;
}

export function isBatchKey(key: string | null): boolean {
  return key?.startsWith(BATCH_PREFIX) === true;
}

export function keyScope(executor: string, key: string): string {
  return `${executor}/${key}`;
}

/** Whether the key stands for a batch of tasks of this executor. */
export function isBatchScope({ scope }: ExecutionKey, executor: string): boolean {
  return isBatchKey(keyInScope(executor, scope));
}

/** The user's key again. */
export function keyInScope(executor: string, scope: string): string {
  return scope.slice(executor.length + 1);
}
