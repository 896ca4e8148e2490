/**
 * What an engine does: one child process with DuckDB in it. Every call runs in an instance that can open the files
 * which the call names and nothing else (`child/instances.ts`). Data never passes between the processes,
 * only SQL, paths and figures (and, for rows that people read, finished text). A native crash ends the child and
 * fails the call with `engine_crashed`; the next call starts another child. A child that takes more memory than its
 * limits allow is ended, which fails the call that took it with `out_of_memory`, and that one only.
 */
import type { SplitQueryInput, SplitQueryResult } from '../plan/index.ts';
import type { Fragment, SessionValues, StageOutput } from '../plan/index.ts';
import type {
  Cluster,
  FileRange,
  FragmentTask,
  PinnedTable,
  ResultColumn,
  Stage,
} from '../plan/index.ts';

export interface EngineLimits {
  readonly memoryBytes: number;
  readonly threads: number;
  /** Where DuckDB spills to; made and removed by the engine. */
  readonly spillFolder: string;
  readonly spillBytesMax: number;
}

/** What all engines have in common. */
export interface Engine {
  /** Starts the child process now rather than with the first call. Answers the version of DuckDB. */
  warm(): Promise<string>;
  close(): Promise<void>;
}

/** Runs fragments, on a worker. Calls wait for each other: the limit of memory is for one of them. */
export interface FragmentEngine extends RowEngine {
  run(order: FragmentRequest, signal: AbortSignal): Promise<FragmentOutput>;
}

export interface FragmentRequest {
  readonly fragment: Fragment;
  readonly output: StageOutput;
  readonly session: SessionValues;
  readonly ranges: Readonly<Record<string, readonly FileRange[]>>;
  readonly spans?: FragmentTask['spans'];
  /** Parquet files of each exchange input, by relation; an empty list is an empty input. */
  readonly inputs: Readonly<Record<string, readonly string[]>>;
  /** An empty folder for what it writes. */
  readonly folder: string;
  /** Of a `result`: when it has no more than this, its rows are answered too. */
  readonly rowsMax?: RowsMax;
}

export interface RowsMax {
  /** Rows times columns. */
  readonly values: number;
  /** Of the file, and of the rows as JSON. */
  readonly bytes: number;
}

export interface FragmentOutput {
  /** By partition, as many as the output has: files in the folder, in order. */
  readonly parts: readonly { readonly rows: number; readonly files: readonly string[] }[];
  /** As `rows` has them in JSON; null when nobody asked, or there are more. */
  readonly rows: readonly (readonly unknown[])[] | null;
  /** Of small files, by name: their length and CRC-32. */
  readonly sums: Readonly<Record<string, { readonly bytes: number; readonly crc32: number }>>;
  /** Of scans; who has brought the exchanges knows theirs. */
  readonly rowsIn: number;
  readonly rowsOut: number;
  readonly runMs: number;
  /** The most that lay in the spill folder when it was looked at, ten times a second. */
  readonly spilledBytes: number;
}

/** Plans, at the leader. It has the frozen list of disabled optimizers and never executes a user's query. */
export interface PlanningEngine extends Engine {
  /** Reads what the files say of themselves. Fails with `schema_mismatch` when they do not go together. */
  describe(source: TableSource, signal: AbortSignal): Promise<TableDescription>;
  plan(request: PlanRequest, signal: AbortSignal): Promise<LogicalAnswer>;
  /** Binds the fragments of these stages as a worker would, over relations without rows. */
  bind(request: BindRequest, signal: AbortSignal): Promise<BoundTypes | { readonly fault: string }>;
  /** Splits what was planned. For large plans: small ones are split sooner than sent. */
  split(input: SplitQueryInput, signal: AbortSignal, caller?: string): Promise<SplitQueryResult>;
}

export interface TableSource {
  readonly format: PinnedTable['format'];
  readonly files: readonly string[];
  readonly options: string;
  /** Types that the catalog gives, by column; others are inferred. */
  readonly types: Readonly<Record<string, string>>;
}

export interface TableDescription {
  readonly columns: PinnedTable['columns'];
  /** One for each file: rows and rows of each row group. */
  readonly files: readonly { readonly rows: number | null; readonly groups: readonly number[] }[];
  /** See `PinnedTable.clusters`. */
  readonly clusters: readonly Cluster[];
  /** With these any part of the files is read as all of them are; see `PinnedTable.options`. */
  readonly options: string;
  /** See `PinnedTable.select`. */
  readonly select: string;
}

export interface PlanRequest {
  readonly sql: string;
  /** Values of `$1` or `$name`, as JSON; empty for none. */
  readonly params: readonly unknown[] | Readonly<Record<string, unknown>>;
  readonly tables: readonly PinnedTable[];
  readonly timeZone: string;
  /** Who asks: callers take turns. */
  readonly caller?: string;
}

export interface BindRequest {
  readonly stages: readonly Pick<Stage, 'fragment' | 'output'>[];
  /** Those of the statement that was planned. */
  readonly tables: readonly PinnedTable[];
  readonly timeZone: string;
  readonly caller?: string;
}

/** For each stage the types of its columns in order, and one more. */
export interface BoundTypes {
  readonly types: readonly string[];
}

export interface LogicalAnswer {
  /** The statement as it will run, with the parameters in it. */
  readonly sql: string;
  readonly columns: readonly ResultColumn[];
  /** `json_serialize_plan`, as DuckDB writes it; null when it cannot, with why. */
  readonly plan: string | null;
  readonly whyNot: string | null;
  /** `EXPLAIN (FORMAT json)` of the same plan, for its estimates. */
  readonly estimates: string | null;
  /** `now()` and the time zone that the plan was made with. */
  readonly session: SessionValues;
  readonly duckdb: string;
}

/** Reads Parquet results back with their logical types, as text or as a Parquet file that anybody can read. */
export interface RowEngine extends Engine {
  /** Pieces of about 1 MiB, a longer one for a single long row; nothing is kept for a slow reader. */
  rows(request: RowsRequest, signal: AbortSignal): AsyncIterable<Uint8Array>;
}

export type RowFormat = 'json' | 'ndjson' | 'csv' | 'parquet';

export interface RowsRequest {
  /** As written by a fragment with output `result`. */
  readonly files: readonly string[];
  readonly columns: readonly ResultColumn[];
  readonly format: RowFormat;
  /** In which a TIMESTAMP WITH TIME ZONE is written; UTC if absent. */
  readonly timeZone?: string;
}
