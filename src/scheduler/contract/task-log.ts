/** What tasks print, on its way from a worker to the store and from there to readers. */
import type { JobId, JobState, TaskId } from '../core/index.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** A line as a worker sends it. The leader checks, shortens and redacts it. */
export interface TaskLogLine {
  readonly jobId: JobId;
  readonly taskId: TaskId;
  readonly attempt: number;
  /** Milliseconds, by the database's clock as far as the worker knows it. */
  readonly at: number;
  readonly level: LogLevel;
  readonly message: string;
  /** JSON text of an object; null when there are none. */
  readonly fields: string | null;
}

/** A line as people read it. */
export interface LogShape {
  /** Grows within the job. */
  readonly seq: number;
  readonly at: string;
  readonly task: string;
  readonly attempt: number;
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>> | null;
}

export interface LogsQuery {
  readonly job: JobId;
  /** The number of the last line that the caller has seen; 0 for none. */
  readonly after: number;
  readonly limit: number;
  readonly task?: TaskId;
  readonly attempt?: number;
}

export interface LogPage {
  readonly lines: readonly LogShape[];
  /** Of the job, read before the lines: after its end only lines that were on their way are added. */
  readonly state: JobState;
}
