/** The port for reads, for the API and observers. A node with a database reads there, an observer answers from what it
 * has seen; the only difference is `asOf`. */
import type { Instant, JobId, JobState, LeaderAddress, TaskId } from '../core/index.ts';
import type {
  AsOf,
  DeadTask,
  EventShape,
  JobSummary,
  NodeShape,
  ScheduleShape,
  TaskDetail,
} from './shapes.ts';
import type { LogPage, LogsQuery } from './task-log.ts';
import type { ReadJob, ReadResult } from './json-text.ts';

/** An answer, and how fresh it is. */
export interface Dated<T> {
  readonly asOf: AsOf<Date>;
  readonly value: T;
}

export interface Page<T> {
  readonly items: readonly T[];
  /** Where the next page starts; null after the last. */
  readonly cursor: string | null;
}

export interface JobsQuery {
  readonly state?: JobState;
  readonly name?: string;
  /** Only jobs with all of these, `key:value`. */
  readonly labels?: readonly string[];
  /** Only jobs with a task that waits for a signal of this name, or for any: `*`. */
  readonly waitingFor?: string;
  /** Only jobs of this schedule. */
  readonly schedule?: string;
  /** Only jobs that this event or task has started: `event/NAME`, `event/NAME/ID`, `job/ID` or `job/ID/TASK`. */
  readonly startedBy?: string;
  /** Only jobs that were created at this time or later, and before `until`. */
  readonly since?: Instant;
  readonly until?: Instant;
  readonly limit: number;
  readonly cursor?: string;
}

export interface CountedJobs {
  readonly counts: Readonly<Record<JobState, number>>;
  /** False when there are more jobs than were looked at; the newest were. */
  readonly isWhole: boolean;
}

/** Events in order; an empty list is a sign of life. */
export interface EventPage {
  readonly events: readonly EventShape<Date>[];
  readonly asOf: AsOf<Date>;
}

export interface EventsQuery {
  /** The last event that the caller has seen. */
  readonly after: number;
  /** Where `after` comes from: `history` of that answer. Absent: whatever has that number. */
  readonly history?: string;
  readonly job?: JobId;
}

export interface Reader {
  leader(): Promise<LeaderAddress | null>;
  jobs(query: JobsQuery): Promise<Dated<Page<JobSummary<Date>>>>;
  /** By state. May be some seconds old where there are many. */
  jobCounts(): Promise<Dated<CountedJobs>>;
  /** Null when there is no such job; throws `not_found` where it is known why. */
  job(id: JobId): Promise<Dated<ReadJob | null>>;
  /** The result of a job that has succeeded, as JSON text, without the rest of the job. Null where `job` has to tell. */
  resultOf?(id: JobId): Promise<string | null>;
  /** Null when there is no such task. Its times are text where it comes from another node, as JSON. */
  task(job: JobId, task: TaskId): Promise<Dated<TaskDetail<ReadResult, Date | string> | null>>;
  deadTasks(query: Pick<JobsQuery, 'limit' | 'cursor'>): Promise<Dated<Page<DeadTask<Date>>>>;
  /** What the tasks of a job have printed. Null when there is no such job. */
  logs(query: LogsQuery): Promise<LogPage | null>;
  nodes(): Promise<Dated<readonly NodeShape<Date>[]>>;
  schedules(): Promise<Dated<readonly ScheduleShape<Date>[]>>;
  /** The number of the last event. */
  head(): Promise<AsOf<Date>>;
  /** How many commits the tables lack, on the leader of a store with a journal; null elsewhere. */
  unfolded?(): Promise<number | null>;
  /**
   * Follows the log until the signal aborts, at the pace of the iteration: nothing is buffered for a slow follower.
   * Throws `expired` if `after` is past retention, or not part of the history any more. Yields an empty page as a
   * keep-alive when nothing happens for a while.
   */
  follow(query: EventsQuery, signal: AbortSignal): AsyncIterable<EventPage>;
}
