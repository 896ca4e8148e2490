/** The answers of calls, and queries as they are sent. Jobs, nodes and events have the shapes of the contract. */
import type { JobId, JobState, SignalFate } from '../scheduler/core/index.ts';
import type {
  AsOf,
  JobShape,
  JobSummary,
  NodeShape,
  QuerySummary,
  ScheduleShape,
  TaskDetail,
} from '../scheduler/contract/index.ts';
import type { RowBatch } from './sql/json-rows.ts';
import type { CallOptions } from './options.ts';

/** The id is of an older job when the document's `idempotencyKey` was known. */
export interface Submitted {
  readonly id: JobId;
  readonly state: JobState;
  /** Made by this call; false when its key or its id was known. */
  readonly isNew: boolean;
}

export interface JobsPage {
  readonly jobs: readonly JobSummary[];
  readonly cursor: string | null;
  readonly asOf: AsOf;
}

export interface DatedJob extends JobShape {
  readonly asOf: AsOf;
  /** Only in the answer to a signal that was just accepted. */
  readonly signal?: SignalFate;
}

export interface ChangedJob extends DatedJob {
  /** False if it was that way already, or has ended. */
  readonly changed: boolean;
  /** Why a change of its time has changed nothing. */
  readonly why?: string;
}

export interface DatedTask extends TaskDetail {
  readonly asOf: AsOf;
}

export interface DatedNodes {
  readonly nodes: readonly NodeShape[];
  readonly asOf: AsOf;
}

export interface DatedSchedules {
  readonly schedules: readonly ScheduleShape[];
  readonly asOf: AsOf;
}

/** The request of a query, as the API accepts it. */
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

export interface SubmittedQuery extends Submitted {
  /** If they were waited for, and it succeeded in time with few rows. */
  readonly result?: RowBatch;
}

export interface SubmitQueryOptions extends CallOptions {
  /** The answer includes the rows if the query ends within this time and they are few. */
  readonly waitMs?: number;
  /** Generated if not given. With it the whole call can be repeated later, by another process too. */
  readonly queryId?: JobId;
  /** The id was made for this call. */
  readonly isNewId?: boolean;
}

export interface QueryOptions extends CallOptions {
  /** The answer comes when the query has ended, or after this long. */
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
