/** What the client's calls take and give. Jobs, nodes and events look as the protocol room has them. */
import type { JobId, JobState, SignalFate, TaskId } from '../../scheduler/core/index.ts';
import type {
  AsOf,
  DeadTask,
  JobShape,
  JobSummary,
  NodeShape,
  QuerySummary,
  ScheduleShape,
} from '../../scheduler/contract/index.ts';

export interface CallOptions {
  /** Gives the call up; it then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Outlasts any outage, once a server has answered: the signal alone gives the call up. */
  readonly retriesForever?: boolean | undefined;
}

export interface SubmitOptions extends CallOptions {
  /** Without it one is made up. With it the whole call can be repeated later, by another process too. */
  readonly jobId?: JobId;
}

/** The id is of an older job when the document's `idempotencyKey` was known. */
export interface Submitted {
  readonly id: JobId;
  readonly state: JobState;
  /** Made by this call; false when its key or its id was known. */
  readonly isNew: boolean;
}

export interface JobsFilter extends CallOptions {
  readonly state?: JobState;
  readonly name?: string;
  /** How many on a page. */
  readonly limit?: number;
  /** Where to go on, from an earlier page. */
  readonly cursor?: string;
}

export interface JobsPage {
  readonly jobs: readonly JobSummary[];
  readonly cursor: string | null;
  readonly asOf: AsOf;
}

export interface DatedJob extends JobShape {
  readonly asOf: AsOf;
  /** Only in the answer to a signal that was just taken in. */
  readonly signal?: SignalFate;
}

export interface DeadTasksPage {
  readonly tasks: readonly DeadTask[];
  readonly cursor: string | null;
  readonly asOf: AsOf;
}

export interface RerunOptions extends CallOptions {
  /** Only if the job is still at this run; without it, at the run that it is found at now. */
  readonly expectedRun?: number;
}

export interface ForkOptions extends CallOptions {
  /** What lies at or below this task runs again; everything else that succeeded is taken over. */
  readonly from: TaskId;
  readonly jobId?: JobId;
}

export interface SignalOptions extends CallOptions {
  /** Without it one is made up. The same one again changes nothing, by another process too. */
  readonly signalId?: string;
}

export interface DatedNodes {
  readonly nodes: readonly NodeShape[];
  readonly asOf: AsOf;
}

export interface DatedSchedules {
  readonly schedules: readonly ScheduleShape[];
  readonly asOf: AsOf;
}

export interface WatchOptions extends CallOptions {
  /** The last event that the caller has seen, 0 for the job's beginning; without it, from now on. */
  readonly after?: number;
}

export interface EventsOptions extends CallOptions {
  /** The last event that the caller has seen, 0 for all that are kept; without it, from now on. */
  readonly after?: number;
  readonly job?: JobId;
  /** Ends once everything up to this event has been seen; without it, never. */
  readonly until?: number;
}

/** What is asked by a query, as the API takes it. */
export interface QueryRequest {
  readonly sql: string;
  /** Of `$1`, `$2` or of `$name`. */
  readonly params?: readonly unknown[] | Readonly<Record<string, unknown>>;
  /** Name to path, glob, list of them, or more. */
  readonly tables?: Readonly<Record<string, unknown>>;
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Of its job. */
  readonly name?: string;
  /** An IANA name such as `Europe/Berlin`; UTC if not given. */
  readonly timeZone?: string;
  readonly idempotencyKey?: string;
  readonly priority?: number;
}

export interface SubmitQueryOptions extends CallOptions {
  /** Without it one is made up. With it the whole call can be repeated later, by another process too. */
  readonly queryId?: JobId;
  /** The id was made for this call. */
  readonly isNewId?: boolean;
}

export interface QueryOptions extends CallOptions {
  /** The answer comes when the query is over, or after so long. */
  readonly waitMs?: number;
}

export interface QueryPage {
  readonly queries: readonly QuerySummary[];
  readonly cursor: string | null;
  readonly asOf: AsOf;
}

export interface QueryExplanation {
  /** The physical plan: see `docs/plan-format.md`. */
  readonly plan: unknown;
  /** The same for people. */
  readonly text: string;
}

export type ResultFormat = 'json' | 'ndjson' | 'csv' | 'parquet';
