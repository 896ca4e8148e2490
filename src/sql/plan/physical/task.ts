/**
 * The input and the result of a fragment task. Both are stored as JSON and read by other versions of Millrace, so the
 * names of fields stay: `part` and `parts` are partitions.
 */
import type { Fragment, SessionValues, StageOutput } from './plan.ts';
import type { FileRange, ValueSpan } from './table.ts';

export { FRAGMENT_EXECUTOR } from '../../../scheduler/core/index.ts';
/** The executor of the first task of a query, which never runs: its result is the plan. */
export const PLAN_EXECUTOR = 'sql.plan';
/** The id of that task. */
export const PLAN_TASK = 'plan';

export interface FragmentTask {
  /** The version of the plan format that a worker must know to run it; absent for version 2. */
  readonly version?: number;
  readonly stage: number;
  /** Its index in the stage. */
  readonly task: number;
  readonly fragment: Fragment;
  readonly output: StageOutput;
  readonly session: SessionValues;
  /** For each scan of the fragment, by relation: the splits of this task. */
  readonly ranges: Readonly<Record<string, readonly FileRange[]>>;
  /**
   * The fragment may run over each of its ranges by itself. Its only input is a share of the rows of a table, which could
   * as well be the shares of several tasks. Absent if it may not, or if that would not help.
   */
  readonly byRange?: true;
  /** For each range-partitioned scan, by relation: the values that this task reads. */
  readonly spans?: Readonly<Record<string, ValueSpan>>;
  /** For each exchange, by relation: one entry for each producer that this task reads. */
  readonly reads: Readonly<Record<string, readonly PartitionRead[]>>;
  /** For scans, by relation: a condition over `c0`, `c1`, ... Rows that do not satisfy it may be left out. */
  readonly filters?: Readonly<Record<string, string>>;
  /** EXPLAIN ANALYZE: rows that these conditions leave out are counted. */
  readonly countsFiltered?: true;
  /** Columns of its output whose values are reported with the result, as all tasks of its stage do. Absent for none. */
  readonly keys?: { readonly columns: readonly number[]; readonly tasks: number };
  /** The last stage: a few rows of plain types are returned as JSON only. Absent if they are likely to be many. */
  readonly rowsAlone?: true;
  /** Custom operators that the node must have. */
  readonly requires: readonly string[];
  /** Equal for queries that may name the same tables; their fragments may share what engines keep open. Absent for no others. */
  readonly scope?: string;
  /** For DuckDB; null for the node's share per slot. */
  readonly memoryBytes: number | null;
  /** Its share of the cluster's processors while all tasks of its stage run; absent if it may have all of its node. */
  readonly threads?: number;
}

/** One partition of one producer. */
export interface PartitionRead {
  readonly at: OutputPlace;
  /** Its number among the producer's partitions. */
  readonly partition: number;
  readonly part: PartitionInfo;
}

/** Where an output is stored. It identifies one attempt for ever: a task is never given the same `fence` twice. */
export interface OutputPlace {
  /** The id of the producing task in the job. */
  readonly task: string;
  readonly fence: number;
  readonly node: string;
  /** HOST:PORT of the worker's own services; null if it does not listen. */
  readonly address: string | null;
  /** The folder on that node. A worker that sees the same folder with the same index may read it in place. */
  readonly folder: string;
  /** A hash of the index, which contains the checksums. */
  readonly index: string;
  /** The attempt: a reader that is half-way through another one starts again. */
  readonly epoch: number;
  readonly layout: number;
}

/** A partition: self-contained Parquet segments, one after the other. */
export interface PartitionInfo {
  readonly rows: number;
  readonly bytes: number;
  /** Length and CRC-32 of each segment, in order. Without segments there are no rows. */
  readonly segments: readonly (readonly [bytes: number, crc32: number])[];
}

export interface FragmentResult {
  readonly at: OutputPlace;
  /** One for each partition, including the empty ones. */
  readonly parts: readonly PartitionInfo[];
  /** A small result is only here, and `parts[0]` has no segments on the node. */
  readonly inline: InlineResult | null;
  /** One for each of the task's `keys.columns`; null if its values cannot be reported. */
  readonly keys?: readonly (KeySummary | null)[];
  readonly metrics: FragmentMetrics;
}

/** The values of a column as text, which DuckDB casts back to exactly these values. */
export interface KeySummary {
  readonly hasNull: boolean;
  /** Both null if all values are NULL, or there are no rows. */
  readonly min: string | null;
  readonly max: string | null;
  /** All distinct values but NULL, in ascending order; null if there are too many. */
  readonly values: readonly string[] | null;
  /** If there are too many to be listed, but not more than that: a bitmap of their hashes in base64. */
  readonly bits?: string;
}

export interface InlineResult {
  /** One Parquet file, in base64; null if all values are in `rows`. */
  readonly parquet: string | null;
  /** The rows in the form of `format=json`, if they are few. */
  readonly rows: readonly (readonly unknown[])[] | null;
}

export interface FragmentMetrics {
  readonly rowsIn: number;
  readonly rowsOut: number;
  readonly bytesOut: number;
  /** Segments written. */
  readonly batches: number;
  /** Fetched from other nodes, and read from local files. */
  readonly fetchedBytes: number;
  readonly localBytes: number;
  /** Of both, what was brought here before the task began; absent for none. */
  readonly earlyBytes?: number;
  readonly fetchMs: number;
  readonly runMs: number;
  readonly writeMs: number;
  readonly spilledBytes: number;
  /** Rows that runtime filters have left out, if they were to be counted. */
  readonly filteredRows?: number;
}

/** Of a fragment whose worker has measured nothing. */
export const NO_METRICS: FragmentMetrics = {
  rowsIn: 0,
  rowsOut: 0,
  bytesOut: 0,
  batches: 0,
  fetchedBytes: 0,
  localBytes: 0,
  fetchMs: 0,
  runMs: 0,
  writeMs: 0,
  spilledBytes: 0,
};
