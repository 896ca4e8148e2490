/** The part of a query that the current stage computes so far: a relation, its partitioning, and estimates. */
import type { Relation } from '../logical/relation.ts';
import type { Partitioning } from './partitioning.ts';
import { REPLICATED, SINGLE } from './partitioning.ts';
import { rowBytes, type ColumnStats } from './column-stats.ts';

export interface Subplan {
  readonly relation: Relation;
  readonly partitioning: Partitioning;
  /** Estimated, over all tasks. */
  readonly rows: number;
  readonly columns: readonly ColumnStats[];
  /** Why a second run over the same inputs may return other rows. */
  readonly nonDeterministic: string | null;
  /** It has at most one row. */
  readonly isOneRow: boolean;
  /**
   * The scan that it consists of, with only row-by-row operators above it: such a scan can still be partitioned, or read
   * by every task, later.
   */
  readonly scan: string | null;
  /**
   * The stage whose output it is, with no operator above it: a consumer that needs another exchange can read that
   * stage again.
   */
  readonly stage: number | null;
}

export function bytesOf({ rows, columns }: Subplan): number {
  return rows * rowBytes(columns);
}

/** Builds the subplan of an operator, with what follows from its inputs alone. */
export function over(inputs: readonly Subplan[], part: Omit<Subplan, 'scan' | 'stage'>): Subplan {
  const nonDeterministic =
    inputs.find((input) => input.nonDeterministic !== null)?.nonDeterministic ??
    part.nonDeterministic;
  // Two tasks that each compute it could disagree.
  const isOnce = nonDeterministic !== null && part.partitioning.kind === 'replicated';
  const partitioning = isOnce ? SINGLE : part.partitioning;
  return { ...part, nonDeterministic, partitioning, scan: null, stage: null };
}

/** The partitioning of an operator over inputs that are not partitioned. */
export function unpartitioned(inputs: readonly Subplan[]): Partitioning {
  return inputs.every(({ partitioning }) => partitioning.kind === 'replicated')
    ? REPLICATED
    : SINGLE;
}
