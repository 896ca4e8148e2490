/** How many rows a join is expected to have. */
import { assertNever } from '../../../scheduler/core/index.ts';
import type { JoinType } from '../logical/relation.ts';
import { combinations } from './column-stats.ts';
import { largestTable } from './distribute-aggregate.ts';
import type { Draft } from './draft.ts';
import type { KeyPair } from './join-partitioning.ts';
import type { Subplan } from './subplan.ts';

interface JoinKeys {
  readonly type: JoinType;
  readonly pairs: readonly KeyPair[];
  /** DuckDB's estimate. */
  readonly rows: number | null;
}

export function joinRows(draft: Draft, join: JoinKeys, left: Subplan, right: Subplan): number {
  return Math.min(
    join.rows ?? guessedRows(join.type, left.rows, right.rows),
    matched(draft, join, left, right),
    mostRows(join.type, left.rows, right.rows),
  );
}

/**
 * The rows of an inner join by several columns, of which DuckDB takes only one into account. A row meets those of the other side that have its
 * combination of values, of as many as there may be in the tables below.
 */
function matched(draft: Draft, { type, pairs }: JoinKeys, left: Subplan, right: Subplan): number {
  if (type !== 'inner' || pairs.length < 2) return Infinity;
  const values = (side: keyof KeyPair, { columns, relation }: Subplan): number => {
    const keys = pairs.map(({ [side]: key }) => key);
    return Math.min(combinations(keys, columns), largestTable(draft, relation));
  };
  return (left.rows * right.rows) / Math.max(1, values('left', left), values('right', right));
}

function guessedRows(type: JoinType, left: number, right: number): number {
  switch (type) {
    case 'semi':
    case 'anti':
      return left / 2;
    case 'mark':
    case 'single':
      return left;
    case 'inner':
    case 'left':
    case 'right':
    case 'full':
      return Math.max(left, right);
    default:
      return assertNever(type);
  }
}

/** DuckDB does not see how few rows are left of a side that is grouped below. */
function mostRows(type: JoinType, left: number, right: number): number {
  return type === 'inner' ? Math.max(1, left) * Math.max(1, right) : Infinity;
}
