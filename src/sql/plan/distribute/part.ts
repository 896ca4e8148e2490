/** A part of a query that one fragment computes so far: the relation, how it is divided, and how large it is. */
import type { Relation } from '../logical/relation.ts';
import type { Spread } from './spread.ts';
import { REPLICATED, SINGLE } from './spread.ts';
import { rowBytes, type ColumnSize } from './sizes.ts';

export interface Part {
  readonly relation: Relation;
  readonly spread: Spread;
  /** Estimated, over all tasks together. */
  readonly rows: number;
  readonly columns: readonly ColumnSize[];
  /** Why computing it again from the same inputs may give other rows. */
  readonly unstable: string | null;
  /** It is known to have no more. */
  readonly isOneRow: boolean;
  /** The scan that it consists of, with nothing but operators that look at one row at a time: it can be divided
   * after all. */
  readonly scan: string | null;
  /** It is what this stage has made and no more, so whoever wants it in another way can read it anew. */
  readonly stage: number | null;
}

export function bytesOf({ rows, columns }: Part): number {
  return rows * rowBytes(columns);
}

/** Of an operator over some parts: what follows from them alone. */
export function over(inputs: readonly Part[], part: Omit<Part, 'scan' | 'stage'>): Part {
  const unstable = inputs.find((input) => input.unstable !== null)?.unstable ?? part.unstable;
  // Two tasks that each compute it might not agree.
  const isOnce = unstable !== null && part.spread.kind === 'replicated';
  const spread = isOnce ? SINGLE : part.spread;
  return { ...part, unstable, spread, scan: null, stage: null };
}

/** How parts that all have their rows in one place are divided together. */
export function wholeSpread(inputs: readonly Part[]): Spread {
  return inputs.every(({ spread }) => spread.kind === 'replicated') ? REPLICATED : SINGLE;
}
