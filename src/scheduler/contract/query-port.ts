/** Looking at queries, as the API needs it. */
import type { JobId, JobState, TaskError } from '../core/index.ts';
import type { Dated, JobsQuery, Page } from './reader-port.ts';
import type { QueryShape } from './shapes.ts';

/** A query in a list. */
export interface QuerySummary {
  readonly id: JobId;
  /** The beginning of its text, or the name that it was given. */
  readonly name: string;
  readonly state: JobState;
  readonly error: TaskError | null;
  readonly submittedAt: string;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
}

export interface QueryReader {
  /** Null when there is no such job, or it is no query. */
  query(id: JobId): Promise<Dated<QueryShape | null>>;
  /** Newest first. A page may have fewer than asked for and still not be the last: the cursor says. */
  queries(query: Omit<JobsQuery, 'name'>): Promise<Dated<Page<QuerySummary>>>;
}

/** How rows are written for a reader. */
export type ResultFormat = 'json' | 'ndjson' | 'csv' | 'parquet';

export const RESULT_FORMATS: readonly ResultFormat[] = ['json', 'ndjson', 'csv', 'parquet'];

/** Rows as they come. Who stops iterating, or aborts the signal that the call was given, ends the reading. */
export interface ResultStream {
  readonly format: ResultFormat;
  readonly pieces: AsyncIterable<Uint8Array>;
}

/** Queries, as clients reach them over the network. */
export interface QueryService {
  readonly reader: QueryReader;
  /** Plans the request, which is unchecked, and hands the job in. Throws `not_leader` where somebody else leads. */
  submit(
    request: unknown,
    options: { readonly jobId: JobId; readonly isRepeated: boolean; readonly caller?: string },
    signal: AbortSignal,
  ): Promise<{ readonly jobId: JobId; readonly state: JobState }>;
  results(id: JobId, format: ResultFormat, signal: AbortSignal): Promise<ResultStream>;
}
