/**
 * The engines. Each is a child process with DuckDB in it, and every call runs in an instance that can open the files
 * named in the call and nothing else (`child/instances.ts`). Only SQL, paths and figures pass between the processes,
 * and text for rows that people read.
 *
 * A native crash ends the child and fails the call with `engine_crashed`; the next call starts another child. A child
 * that exceeds its memory limit is killed, which fails the call that caused it with `out_of_memory`, and that one
 * only.
 */
import type { OperatorDeclaration } from '../../scheduler/core/index.ts';
import type { HostAnswer, HostRequest } from '../../tasks/executors/index.ts';
import type { Fragment, SessionValues, StageOutput } from '../plan/index.ts';
import type {
  Cluster,
  TableLines,
  FileRange,
  FragmentTask,
  KeySummary,
  PinnedTable,
  PlanSettings,
  QueryPlan,
  ResultColumn,
} from '../plan/index.ts';
import type { FoundCall } from './sql/operator-calls.ts';

export interface EngineLimits {
  readonly memoryBytes: number;
  readonly threads: number;
  /** Where DuckDB spills to; created and removed by the engine. */
  readonly spillFolder: string;
  readonly spillBytesMax: number;
}

/** The operators and functions of users that an engine can run. */
export interface CustomEngineCode {
  /** Modules that the child process loads, as URLs. */
  readonly modules: readonly string[];
  readonly functions: readonly FunctionSignature[];
  /** Names of those that no module has. */
  readonly hosted: readonly string[];
  /** Runs these, in this process. A new one for each child. */
  readonly host: (progress: (fraction: number, note?: string) => void) => CodeHost;
}

export interface CodeHost {
  answer(request: HostRequest): Promise<HostAnswer>;
  abort(reason: unknown): void;
}

/** What all engines have in common. */
export interface Engine {
  /** Starts the child process now rather than with the first call. Returns the version of DuckDB. */
  warm(): Promise<string>;
  close(): Promise<void>;
}

/** Runs fragments on a worker, one call at a time, because the memory limit is for one of them. */
export interface FragmentEngine extends RowEngine {
  run(order: FragmentRequest, signal: AbortSignal): Promise<FragmentOutput>;
}

export interface FragmentRequest {
  readonly fragment: Fragment;
  readonly output: StageOutput;
  readonly session: SessionValues;
  readonly ranges: Readonly<Record<string, readonly FileRange[]>>;
  readonly spans?: FragmentTask['spans'];
  readonly byRange?: FragmentTask['byRange'];
  readonly filters?: FragmentTask['filters'];
  readonly countsFiltered?: FragmentTask['countsFiltered'];
  readonly keys?: FragmentTask['keys'];
  readonly scope?: FragmentTask['scope'];
  /** Parquet files of each exchange input, by relation; an empty list is an empty input. */
  readonly inputs: Readonly<Record<string, readonly string[]>>;
  /** An empty folder for its output. */
  readonly folder: string;
  /** The operators and functions of users without which it cannot run. */
  readonly requires?: readonly string[];
  /** The operator that the fragment calls, if any, and its memory limit. */
  readonly operator?: OperatorDeclaration;
  readonly operatorBytes?: number;
  /** Rows that the operator may return for one batch of its input. */
  readonly operatorRowsMax?: number;
  /** Called with the progress of a custom operator. */
  readonly onProgress?: (fraction: number, note: string | null) => void;
  /** For a `result`: up to this size its rows are returned, and there is no file if their JSON has all values. */
  readonly rowsMax?: RowsMax;
}

export interface RowsMax {
  /** Rows times columns. */
  readonly values: number;
  /** Of the rows as JSON. */
  readonly bytes: number;
}

export interface FragmentOutput {
  /** One entry per partition of the output: its files in the folder, in order. */
  readonly parts: readonly { readonly rows: number; readonly files: readonly string[] }[];
  /** In the JSON form of `rows`; null if not requested, or if there are more. */
  readonly rows: readonly (readonly unknown[])[] | null;
  /** Length and CRC-32 of small files, by name. */
  readonly sums: Readonly<Record<string, { readonly bytes: number; readonly crc32: number }>>;
  /** For each of the request's `keys`: its values; null if they cannot be reported. */
  readonly keys?: readonly (KeySummary | null)[];
  /** Rows that filters have left out, if they were to be counted. */
  readonly filteredRows?: number;
  /** Of scans only; the caller knows those of the exchanges. */
  readonly rowsIn: number;
  readonly rowsOut: number;
  readonly runMs: number;
  /** The peak size of the spill folder, sampled ten times a second. */
  readonly spilledBytes: number;
}

/**
 * Plans queries on the leader, with some optimizers disabled. It never runs a user's query, but may read the keys of a small table
 * that simple conditions choose (see `KeyLookup`).
 */
export interface PlanningEngine extends Engine {
  /** Describes the files of a table. Fails with `schema_mismatch` if they are not compatible. */
  describe(source: TableSource, signal: AbortSignal): Promise<TableDescription>;
  /** The outermost calls of these operators in a statement. */
  operators(request: OperatorsRequest, signal: AbortSignal): Promise<readonly FoundCall[]>;
  plan(request: PlanRequest, signal: AbortSignal): Promise<LogicalAnswer>;
  /** Plans a statement and splits it into stages, whose fragments DuckDB has bound as a worker will. */
  distribute(request: DistributeRequest, signal: AbortSignal): Promise<DistributedQuery>;
}

export interface TableSource {
  readonly format: PinnedTable['format'];
  readonly files: readonly string[];
  readonly options: string;
  /** Types from the catalog, by column; others are inferred. */
  readonly types: Readonly<Record<string, string>>;
}

export interface TableDescription {
  readonly columns: PinnedTable['columns'];
  /** For each file: its rows and the rows of each row group. */
  readonly files: readonly { readonly rows: number | null; readonly groups: readonly number[] }[];
  /** See `PinnedTable.clusters`. */
  readonly clusters: readonly Cluster[];
  /** See `PinnedTable.ascending`. */
  readonly ascending?: readonly Cluster[];
  /** With these, any subset of the files is read as all of them are; see `PinnedTable.options`. */
  readonly options: string;
  /** See `PinnedTable.select`. */
  readonly select: string;
  /** See `PinnedTable.lines`. */
  readonly lines?: TableLines;
}

export interface OperatorsRequest {
  /** With its parameters inlined. */
  readonly sql: string;
  /** In lower case. */
  readonly operators: readonly string[];
  readonly caller?: string;
}

/** A custom scalar function as DuckDB sees it. */
export interface FunctionSignature {
  readonly name: string;
  /** Types as DuckDB writes them. */
  readonly input: readonly string[];
  /** The names of its arguments. */
  readonly parameters: readonly string[];
  readonly output: string;
  readonly isDeterministic: boolean;
}

export interface PlanRequest {
  readonly sql: string;
  /** Values of `$1` or `$name`, as JSON; empty for none. */
  readonly params: readonly unknown[] | Readonly<Record<string, unknown>>;
  readonly tables: readonly PinnedTable[];
  /** Equal for statements that may name the same tables: these share what is open. */
  readonly scope?: string | undefined;
  readonly timeZone: string;
  /** Custom functions that the statement may call. */
  readonly functions?: readonly FunctionSignature[];
  /** A statement that reads no more than this runs whole, so DuckDB is not asked for its plan. */
  readonly wholeUpToBytes?: number;
  /** Callers are served in turn. */
  readonly caller?: string;
}

export interface DistributeRequest extends PlanRequest {
  readonly settings: PlanSettings;
}

export interface DistributedQuery {
  readonly plan: QueryPlan;
  /** Unexpected errors, for the server's log. */
  readonly faults: readonly string[];
  /** It would be the same the next time: nothing failed that may have a transient cause. */
  readonly isSound: boolean;
}

export interface LogicalAnswer {
  /** The statement as it will run, with its parameters inlined. */
  readonly sql: string;
  readonly columns: readonly ResultColumn[];
  /** What it reads at most, if that is within `wholeUpToBytes`: then there is no plan. */
  readonly smallBytes?: number;
  /** The output of `json_serialize_plan`; null if DuckDB cannot serialise the plan, and `whyNot` says why. */
  readonly plan: string | null;
  readonly whyNot: string | null;
  /** `EXPLAIN (FORMAT json)` of the same plan, for its estimates. */
  readonly estimates: string | null;
  /** The value of `now()` and the time zone that the plan was made with. */
  readonly session: SessionValues;
  readonly duckdb: string;
}

/** Reads Parquet results with their logical types, and returns them as text or as a portable Parquet file. */
export interface RowEngine extends Engine {
  /** Returns pieces of about 1 MiB, longer only for a single long row; nothing is buffered for a slow reader. */
  rows(request: RowsRequest, signal: AbortSignal): AsyncIterable<Uint8Array>;
}

/** A file as written by a fragment with output `result`, or the rows that one has returned without a file. */
export type ResultPart = string | { readonly json: string };

export type RowFormat = 'json' | 'ndjson' | 'csv' | 'parquet';

export interface RowsRequest {
  /** In the order of the rows. */
  readonly parts: readonly ResultPart[];
  /** All rows, if known: few of them are read in another way. */
  readonly rowCount?: number;
  readonly columns: readonly ResultColumn[];
  readonly format: RowFormat;
  /** The zone in which a TIMESTAMP WITH TIME ZONE is written; UTC if absent. */
  readonly timeZone?: string;
}
