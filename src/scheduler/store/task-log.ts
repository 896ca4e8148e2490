/**
 * What tasks have printed. It is kept apart from the commits: written in bulk, by its own connection, and not fenced,
 * so that it can neither delay a commit nor be undone by one. A line is durable when `append` has answered.
 */
import type { Instant, JobId, TaskId } from '../core/index.ts';

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export interface LogRow {
  readonly jobId: JobId;
  readonly taskId: TaskId;
  readonly attempt: number;
  readonly at: Instant;
  readonly level: LogLevel;
  readonly message: string;
  /** JSON text of an object; null when there are none. */
  readonly fields: string | null;
}

export interface NumberedLogRow extends LogRow {
  /** Grows within the job, in the order in which lines were appended. */
  readonly seq: number;
}

export interface LogFilter {
  readonly jobId: JobId;
  /** Only lines with a greater number. */
  readonly after: number;
  readonly limit: number;
  readonly taskId?: TaskId;
  readonly attempt?: number;
}

export interface TaskLogStore {
  append(shard: number, rows: readonly LogRow[]): Promise<void>;
  /** In the order of their numbers. */
  read(shard: number, filter: LogFilter): Promise<readonly NumberedLogRow[]>;
  /** Removes the lines of some jobs that are gone and have had no line for this long. True if there may be more. */
  prune(shard: number, quietMs: number): Promise<boolean>;
  /** Removes the lines of one job. */
  remove(shard: number, jobId: JobId): Promise<void>;
}
