/** Reading queries: their state, their plans and their rows. */
import type { JobId, JobState, TaskError } from '../core/index.ts';
import type { Dated, JobsQuery, Page } from './reader-port.ts';
import type { QueryShape } from './shapes.ts';

/** A query in a list. */
export interface QuerySummary<At = string> {
  readonly id: JobId;
  /** The beginning of its SQL text, or its name. */
  readonly name: string;
  readonly state: JobState;
  readonly error: TaskError | null;
  readonly submittedAt: At;
  readonly startedAt: At | null;
  readonly finishedAt: At | null;
}

export interface QueryReader {
  /** Null when there is no such job, or it is not a query. */
  query(id: JobId): Promise<Dated<QueryShape<Date> | null>>;
  /** Newest first. A page may have fewer than asked for and still not be the last: the cursor says. */
  queries(query: Omit<JobsQuery, 'name'>): Promise<Dated<Page<QuerySummary<Date>>>>;
}

/** How rows are written for a reader. */
export type ResultFormat = 'json' | 'ndjson' | 'csv' | 'parquet';

export const RESULT_FORMATS: readonly ResultFormat[] = ['json', 'ndjson', 'csv', 'parquet'];

/** Rows as they come. Who stops iterating, or aborts the signal that the call was given, ends the reading. */
export interface ResultStream {
  readonly format: ResultFormat;
  readonly pieces: AsyncIterable<Uint8Array>;
}

/** A result with values in column order, as `format=json` shows it. */
export interface InlineRows {
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  readonly rows: readonly (readonly unknown[])[];
}

export interface QueryAnalysis {
  /** For people, as EXPLAIN ANALYZE prints it. */
  readonly text: string;
  readonly stages: readonly PlannedStage[];
}

/** What the plan says of a stage; what it did is in the query itself. */
export interface PlannedStage {
  readonly id: number;
  /** Outermost first, indented by depth. */
  readonly operators: readonly string[];
  /** Why a second run may return other rows; null if it returns the same ones. */
  readonly nonDeterministic: string | null;
  /** Custom operators that a node must have. */
  readonly requires: readonly string[];
}

/** Queries, where this node can read them; only the leader plans. A query is submitted with `JobService`. */
export interface QueryService {
  readonly reader: QueryReader;
  /** Settles when the query has ended or is unknown, at the latest after `ms` or when the signal aborts. */
  ended(id: JobId, ms: number, signal: AbortSignal): Promise<void>;
  /** The plan, without running it. The request is unchecked; callers take turns. */
  explain(
    request: unknown,
    signal: AbortSignal,
    caller: string,
  ): Promise<{ readonly plan: unknown; readonly text: string }>;
  /** The names of the tables in the catalog of this node, in order. None of them is opened. */
  tables(): Promise<readonly string[]>;
  /** The executed plan with its measurements; null if there is no such query. */
  analysis(id: JobId): Promise<QueryAnalysis | null>;
  /** Throws `not_found`, `conflict` while it runs, its own error when it failed, `expired`, `result_lost`. */
  results(id: JobId, format: ResultFormat, signal: AbortSignal): Promise<ResultStream>;
  /** The rows of a successful query whose result is small enough to be stored with it; null in all other cases. */
  inlineRows(id: JobId): Promise<InlineRows | null>;
  /** Null when there is no such query. */
  state(id: JobId): Promise<JobState | null>;
  /** Counted since the start of this node. */
  figures(): QueryFigures;
}

export interface QueryFigures {
  readonly plans: number;
  /** Of these, the ones that DuckDB had planned before. */
  readonly planHits: number;
  readonly plansFailed: number;
  readonly planningMs: number;
  readonly planningNow: number;
  readonly results: number;
  readonly resultsFailed: number;
  readonly resultsOpen: number;
  readonly resultBytes: number;
  /** Of these, what came from other nodes. */
  readonly fetchedBytes: number;
}
