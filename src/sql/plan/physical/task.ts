/** What a task of a query is given, and what it answers. Both are JSON: the job's input and result. */
import type { Fragment, SessionValues, StageOutput } from './plan.ts';
import type { FileRange, ValueSpan } from './table.ts';

/** The executor that runs fragments. */
export const FRAGMENT_EXECUTOR = 'sql.fragment';
/** The executor of the first task of a query: it never runs, its result is the plan. */
export const PLAN_EXECUTOR = 'sql.plan';
/** The id of that task. */
export const PLAN_TASK = 'plan';

export interface FragmentTask {
  readonly stage: number;
  /** Its place in the stage. */
  readonly task: number;
  readonly fragment: Fragment;
  readonly output: StageOutput;
  readonly session: SessionValues;
  /** For each scan of the fragment, by relation: this task's part of it. */
  readonly ranges: Readonly<Record<string, readonly FileRange[]>>;
  /** For each scan that is split by values, by relation: which of them this task reads. */
  readonly spans?: Readonly<Record<string, ValueSpan>>;
  /** For each exchange, by relation: one entry for each producer that this task reads. */
  readonly reads: Readonly<Record<string, readonly PartitionRead[]>>;
  /** Custom operators that the node must have. */
  readonly requires: readonly string[];
  /** For DuckDB; null for the node's own share of a slot. */
  readonly memoryBytes: number | null;
}

/** One partition of one producer. */
export interface PartitionRead {
  readonly at: OutputPlace;
  /** Its number among the producer's partitions. */
  readonly partition: number;
  readonly part: PartitionInfo;
}

/** Where an output lies. Names one attempt for ever: `fence` is never given twice to a task. */
export interface OutputPlace {
  /** The task that made it, by its id in the job. */
  readonly task: string;
  readonly fence: number;
  readonly node: string;
  /** HOST:PORT of the worker's own services; null when it listens nowhere. */
  readonly address: string | null;
  /** The folder on that node. Whoever sees the same folder with the same index may read it in place. */
  readonly folder: string;
  /** A hash of the index, which has the checksums. */
  readonly index: string;
  /** The attempt: a reader that is half-way through another one starts again. */
  readonly epoch: number;
  readonly layout: number;
}

/** A partition: self-contained Parquet segments, one after the other. */
export interface PartitionInfo {
  readonly rows: number;
  readonly bytes: number;
  /** Length and CRC-32 of each segment, in order. No segments: no rows. */
  readonly segments: readonly (readonly [bytes: number, crc32: number])[];
}

export interface FragmentResult {
  readonly at: OutputPlace;
  /** One for each partition, the empty ones too. */
  readonly parts: readonly PartitionInfo[];
  /** For a small result: it is here and nowhere else, and `parts[0]` has no segments on the node. */
  readonly inline: InlineResult | null;
  readonly metrics: FragmentMetrics;
}

export interface InlineResult {
  /** One Parquet file, in base64. */
  readonly parquet: string;
  /** The rows as `format=json` shows them, when they are few. */
  readonly rows: readonly (readonly unknown[])[] | null;
}

export interface FragmentMetrics {
  readonly rowsIn: number;
  readonly rowsOut: number;
  readonly bytesOut: number;
  /** Segments written. */
  readonly batches: number;
  /** Fetched from other nodes, and read from files that lie here. */
  readonly fetchedBytes: number;
  readonly localBytes: number;
  readonly fetchMs: number;
  readonly runMs: number;
  readonly writeMs: number;
  readonly spilledBytes: number;
}
