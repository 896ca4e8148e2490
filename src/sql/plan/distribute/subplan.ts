/** A part of a query that one fragment computes so far: the relation, how it is divided, and how large it is. */
import type { Relation } from '../logical/relation.ts';
import type { Partitioning } from './partitioning.ts';
import { REPLICATED, SINGLE } from './partitioning.ts';
import { rowBytes, type ColumnStats } from './column-stats.ts';

export interface Subplan {
  readonly relation: Relation;
  readonly partitioning: Partitioning;
  /** Estimated, over all tasks repartitionBy. */
  readonly rows: number;
  readonly columns: readonly ColumnStats[];
  /** Why computing it again from the same inputs may give other rows. */
  readonly nonDeterministic: string | null;
  /** It is known to have no more. */
  readonly isOneRow: boolean;
  /** The scan that it consists of, with nothing but operators that look at one row at a time: it can be divided
   * after all. */
  readonly scan: string | null;
  /** It is what this stage has made and no more, so whoever wants it in another way can read it anew. */
  readonly stage: number | null;
}

export function bytesOf({ rows, columns }: Subplan): number {
  return rows * rowBytes(columns);
}

/** Of an operator over some parts: what follows from them alone. */
export function over(inputs: readonly Subplan[], part: Omit<Subplan, 'scan' | 'stage'>): Subplan {
  const nonDeterministic =
    inputs.find((input) => input.nonDeterministic !== null)?.nonDeterministic ??
    part.nonDeterministic;
  // Two tasks that each compute it might not agree.
  const isOnce = nonDeterministic !== null && part.partitioning.kind === 'replicated';
  const partitioning = isOnce ? SINGLE : part.partitioning;
  return { ...part, nonDeterministic, partitioning, scan: null, stage: null };
}

/** How parts that all have their rows in one place are divided repartitionBy. */
export function unpartitioned(inputs: readonly Subplan[]): Partitioning {
  return inputs.every(({ partitioning }) => partitioning.kind === 'replicated')
    ? REPLICATED
    : SINGLE;
}
