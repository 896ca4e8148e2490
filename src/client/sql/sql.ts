/** SQL for programs. */
import type { JobState, Json, Priority } from '../../scheduler/core/index.ts';
import type { ResultFormat } from '../index.ts';
import type { QueryShape } from '../../scheduler/contract/index.ts';
import type { CallOptions } from '../options.ts';

/**
 * `client.sql('select ...', options)` or a template: what stands in `${}` becomes a parameter and is never
 * read as SQL. The query is submitted at once; its rows are read by a loop:
 *
 *     for await (const { item, sold } of client.sql`select item, sum(n) as sold from sales group by 1`) { }
 */
export interface Sql {
  <Row extends object = SqlRow>(text: string, options?: SqlOptions): SqlQuery<Row>;
  <Row extends object = SqlRow>(
    parts: TemplateStringsArray,
    ...values: readonly SqlParameter[]
  ): SqlQuery<Row>;
  /** The same with these options for every query: the way to give tables to a template. */
  with(options: Omit<SqlOptions, 'params' | 'idempotencyKey' | 'queryId'>): Sql;
  /** A query that was submitted elsewhere. Its rows can be read again for a while. */
  handle<Row extends object = SqlRow>(id: string): SqlQuery<Row>;
  /** How a query would be run, without running it. */
  explain(text: string, options?: SqlOptions): Promise<SqlPlan>;
}

export interface SqlOptions extends CallOptions {
  /** Of `$1`, `$2`, ... or of `$name`. */
  readonly params?: readonly SqlParameter[] | Readonly<Record<string, SqlParameter>>;
  /** Where the tables lie, as the server sees it; besides those of its catalog. */
  readonly tables?: SqlTables;
  readonly settings?: SqlSettings;
  /** For times with a zone: an IANA name such as `Europe/Berlin`; UTC if not given. */
  readonly timeZone?: string;
  /** In lists of jobs, instead of the beginning of its text. */
  readonly name?: string;
  readonly priority?: Priority;
  /** A second query with the same key is the first one. */
  readonly idempotencyKey?: string;
  /** Generated if not given. An existing query with this id is returned instead. */
  readonly queryId?: string;
}

export type SqlTables = Readonly<Record<string, SqlTable>>;

/** A path, a glob, a list of them, or more. */
export type SqlTable =
  | string
  | readonly string[]
  | {
      readonly paths: string | readonly string[];
      readonly format?: 'parquet' | 'csv' | 'json';
      /** Types by column; what is missing is inferred. */
      readonly schema?: Readonly<Record<string, string>>;
      /** Folders such as `year=2026/`: true, false, or the types of their keys. */
      readonly hive?: boolean | Readonly<Record<string, string>>;
      /** Files may have different columns: absent ones are NULL. */
      readonly unionByName?: boolean;
    };

export interface SqlSettings {
  /** The number of partitions; by default it follows from the slots of the connected nodes. */
  readonly shufflePartitions?: number;
  /** A side of a join up to this size is broadcast; 0 for never. */
  readonly broadcastThresholdBytes?: number;
  /** A query that reads no more than this runs whole on one worker; 0 for never. */
  readonly singleFragmentBytes?: number;
  /** About what a task reads after an exchange: smaller partitions are read by one task; 0 for never. */
  readonly targetPartitionBytes?: number;
  /** A partition of more than so many times the median is read by several tasks, where that is possible; 0 for never. */
  readonly skewFactor?: number;
  /** A smaller partition is never split; each row counts 48 bytes beside those in which it is encoded. */
  readonly skewThresholdBytes?: number;
  /** An ORDER BY of more than this is range-partitioned, so that several tasks sort; 0 for always. */
  readonly sortThresholdBytes?: number;
  /** Scans are filtered by the keys of a join's other side. 0: never, 1: where it seems to pay, 2: wherever possible. */
  readonly runtimeFilters?: number;
  /** A side of a join is broadcast by its size, known before the other is exchanged. 0: never, 1: where it seems to pay, 2: wherever possible. */
  readonly adaptiveJoins?: number;
  readonly memoryBytes?: number;
  readonly timeoutMs?: number;
  readonly maxAttempts?: number;
  /** A task that runs this many times as long as its siblings took is started on a second node; 0 for never. */
  readonly stragglerFactor?: number;
}

/** A list is one in SQL, too: `where item = any(${items})`. A typed array is a list of numbers. */
export type SqlParameter =
  | string
  | number
  | bigint
  | boolean
  | null
  | Date
  | Float32Array
  | Float64Array
  | readonly SqlParameter[];

/**
 * By type, not by value: BIGINT and larger integers are bigint, smaller ones and DOUBLE are number, DECIMAL is
 * text, BLOB is Uint8Array, dates, times, intervals and UUID are text as DuckDB writes them, LIST and STRUCT
 * are JSON, a MAP is a list of `{key, value}`. NULL is null.
 */
export type SqlValue = Json | bigint | Uint8Array;

/** Columns by name. Of two with one name the second is `name_1`. */
export type SqlRow = Readonly<Record<string, SqlValue>>;

export interface SqlColumn {
  readonly name: string;
  /** As DuckDB writes it: `DECIMAL(12,2)`. */
  readonly type: string;
}

export interface SqlPlan {
  /** A documented JSON format. */
  readonly plan: unknown;
  readonly text: string;
}

/**
 * One query. A loop over it waits for its end and reads its rows as they come; leaving the loop closes the
 * stream. Each loop reads from the start. The signal of its options cancels the query while it runs.
 */
export interface SqlQuery<Row> extends AsyncIterable<Row> {
  /** With an `idempotencyKey` it may turn out to be that of an earlier query, once that is known. */
  readonly id: string;
  /** Known when the query is planned, before it has run. */
  columns(options?: CallOptions): Promise<readonly SqlColumn[]>;
  /** All of them at once: for results that fit into memory. */
  rows(options?: CallOptions): Promise<Row[]>;
  /** The rows in a format for files and other programs. */
  stream(format: ResultFormat, options?: CallOptions): AsyncGenerator<Uint8Array, void>;
  /** As it stands, with what its stages have done. */
  status(options?: CallOptions): Promise<QueryShape>;
  /** Waits for its end. Throws a `QueryError` when it did not succeed. */
  finished(options?: CallOptions): Promise<QueryShape>;
  /** Its plan with what was measured. */
  explain(options?: CallOptions): Promise<string>;
  /** A finished query is not changed. */
  cancel(reason?: string): Promise<void>;
}

/** A query did not succeed. `code` is that of the failed task's error. */
export class QueryError extends Error {
  override readonly name = 'QueryError';
  readonly code: string;
  readonly queryId: string;
  readonly state: JobState;
  /** All that is known of it. */
  readonly query: QueryShape;

  constructor(query: QueryShape) {
    const { id, state, error } = query;
    const why = error === null ? '' : `: ${error.message}`;
    super(`Query ${id} ${state === 'failed' ? 'failed' : `was ${state}`}${why}`);
    this.code = error?.code ?? state;
    this.queryId = id;
    this.state = state;
    this.query = query;
  }
}
