/** What it costs to bring all rows of one side of a join to every task: as a stage that sends them, or as a table that each task reads. */
import { largestTable } from './distribute-aggregate.ts';
import { scanBytes, scanRows } from './distribute-scan.ts';
import type { Draft } from './draft.ts';
import { bytesOf, type Subplan } from './subplan.ts';

/** What an additional stage costs even if it moves next to nothing, in bytes that could be moved meanwhile. */
export const EXCHANGE_BYTES: number = 2 * 1024 * 1024;

/**
 * In bytes, where each row counts, however short it is: it is put into a hash table. The rows of a table are known, others may be more
 * than estimated.
 */
export function likelyCost(draft: Draft, side: Subplan, isRead: boolean): number {
  const size = Math.max(bytesOf(side), (side.rows * EXCHANGE_BYTES) / STAGE_ROWS);
  return isRead
    ? size * draft.partitions
    : size * draft.partitions * underestimate(draft, side) + EXCHANGE_BYTES;
}

/**
 * By how much the estimate of a side may be too low: DuckDB expects a fifth of the rows of each filter, whatever it is. Between that and
 * all rows of the largest table, the geometric mean.
 */
function underestimate(draft: Draft, { rows, relation }: Subplan): number {
  return Math.sqrt(Math.max(1, largestTable(draft, relation) / Math.max(1, rows)));
}

/** What writing costs, where reading costs 1. */
const WRITING = 2;
/** What a stage costs beside its rows, in rows that could be read meanwhile. */
const STAGE_ROWS = 400_000;

/** Whether a task has read all of a table before others have read and written a part each, and it has read these. */
export function isSoonerRead({ leaves, partitions }: Draft, sent: Subplan): boolean {
  const leaf = sent.scan === null ? undefined : leaves.get(sent.scan);
  // Text takes longer to be read than to be written.
  if (leaf?.kind !== 'scan' || leaf.table.format !== 'parquet') return false;
  const isSooner = (scanned: number, left: number, stage: number): boolean =>
    scanned <= (scanned + WRITING * left) / partitions + left + stage;
  const bytes = scanBytes(leaf.scan, [leaf.table]);
  return (
    isSooner(scanRows(leaf), sent.rows, STAGE_ROWS) &&
    isSooner(bytes, bytesOf(sent), EXCHANGE_BYTES)
  );
}
