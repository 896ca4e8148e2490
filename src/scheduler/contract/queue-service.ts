/** What operators ask of the leader about queues: the tasks of an executor, or those with a limit of one key. */

export interface QueueShape {
  /** Null for the queue of a key. */
  readonly executor: string | null;
  /** Null for the queue of an executor. */
  readonly key: string | null;
  readonly paused: { readonly since: string; readonly reason: string | null } | null;
}

export interface CountedQueue extends QueueShape {
  /** Tasks that could be started. */
  readonly ready: number;
  readonly running: number;
}

export interface ChangedQueue extends QueueShape {
  /** False if it was in that state already. */
  readonly changed: boolean;
}

export interface QueueService {
  /** Those that tasks in memory belong to, and all that are paused. */
  list(): Promise<readonly CountedQueue[]>;
  /** Starts no more of its tasks. The value is unchecked: `{executor | key, reason?}`. */
  pause(value: unknown): Promise<ChangedQueue>;
  /** The value is unchecked: `{executor | key}`. */
  resume(value: unknown): Promise<ChangedQueue>;
}
