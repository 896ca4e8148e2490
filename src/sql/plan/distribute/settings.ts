/** What decides between plans. */
export interface DistributeSettings {
  /** Into how many parts data is divided. */
  readonly partitions: number;
  /** What is larger is not sent to every task; 0: nothing is, but a single row. */
  readonly broadcastThresholdBytes: number;
  /** Queries that read no more run whole; 0: none. */
  readonly singleFragmentBytes: number;
  /** Tables of which a query needs no more, in both, are read by every task. */
  readonly replicateBytes: number;
  readonly replicateRows: number;
  /** Results of a first half that are no larger come repartitionBy in one task instead of N. */
  readonly gatherBytes: number;
}

/** Bounds of `partitions`, whoever chooses it. */
export const PARTITIONS_MAX = 64;

const REPLICATE_BYTES = 8 * 1024 * 1024;
/** Reading and joining so many rows takes each task a few milliseconds, less than a stage more would. */
const REPLICATE_ROWS = 250_000;
const GATHER_BYTES = 4 * 1024 * 1024;

export interface PlanSettings {
  readonly partitions: number;
  readonly broadcastThresholdBytes: number;
  readonly singleFragmentBytes: number;
}

/** Who sets a low threshold for what every task reads means small tables too. */
export function distributeSettings(settings: PlanSettings): DistributeSettings {
  const { broadcastThresholdBytes } = settings;
  return {
    ...settings,
    replicateBytes: Math.min(REPLICATE_BYTES, broadcastThresholdBytes),
    replicateRows: REPLICATE_ROWS,
    gatherBytes: Math.min(GATHER_BYTES, broadcastThresholdBytes),
  };
}
