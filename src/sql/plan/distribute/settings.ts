/** The settings that decide between plans. */
export interface DistributeSettings {
  /** The number of partitions. */
  readonly partitions: number;
  /** A larger input is not broadcast. With 0 only a single row is. */
  readonly broadcastThresholdBytes: number;
  /** A query that reads no more than this runs as a single fragment; 0 for never. */
  readonly singleFragmentBytes: number;
  /** A table is read in full by every task if a query needs no more of it than this, in bytes and in rows. */
  readonly replicateBytes: number;
  readonly replicateRows: number;
  /** More rows than this are range-partitioned to be sorted; 0 for all. */
  readonly sortThresholdBytes: number;
  /** Partial results up to this size are gathered in one task instead of being repartitioned. */
  readonly gatherBytes: number;
  /** Columns that rows can get where they arrive are not sent with them, if that saves so many bytes. */
  readonly lateBytes: number;
  /** Rows that are joined with a single row are gathered, up to this size, instead of waiting for it in their own tasks. */
  readonly oneRowGatherBytes?: number;
  /** 0: no scan is filtered by the keys of another stage. 1: where that seems to pay. 2: wherever it is allowed. */
  readonly runtimeFilters: number;
  /**
   * 0: whether a side of a join is broadcast is decided by its estimate alone. 1: it may be decided by its size where that
   * seems to pay. 2: wherever it is allowed.
   */
  readonly adaptiveJoins: number;
}

/** The largest number of partitions, whether chosen by the user or by the planner. */
export const PARTITIONS_MAX = 64;

const REPLICATE_BYTES = 8 * 1024 * 1024;
/** Reading and joining this many rows takes each task a few milliseconds, less than another stage would. */
const REPLICATE_ROWS = 250_000;
const GATHER_BYTES = 4 * 1024 * 1024;
const LATE_BYTES = 128 * 1024;
/** Of the broadcast threshold, at most. */
const LATE_SHARE = 1 / 256;
/** Below this, one task sorts sooner than rows are sampled and exchanged. */
export const SORT_THRESHOLD_BYTES: number = 64 * 1024 * 1024;

export interface PlanSettings {
  readonly partitions: number;
  readonly broadcastThresholdBytes: number;
  readonly singleFragmentBytes: number;
  readonly sortThresholdBytes?: number;
  readonly runtimeFilters?: number;
  readonly adaptiveJoins?: number;
}

/** A low broadcast threshold also limits which small tables every task reads. */
export function distributeSettings(settings: PlanSettings): DistributeSettings {
  const { broadcastThresholdBytes, adaptiveJoins = 0 } = settings;
  // A table that every task reads in full has no stage whose size could be waited for.
  const replicateBytes =
    adaptiveJoins === 2 ? 0 : Math.min(REPLICATE_BYTES, broadcastThresholdBytes);
  return {
    sortThresholdBytes: SORT_THRESHOLD_BYTES,
    runtimeFilters: 0,
    adaptiveJoins,
    ...settings,
    replicateBytes,
    replicateRows: REPLICATE_ROWS,
    gatherBytes: Math.min(GATHER_BYTES, broadcastThresholdBytes),
    lateBytes: Math.min(LATE_BYTES, broadcastThresholdBytes * LATE_SHARE),
  };
}
