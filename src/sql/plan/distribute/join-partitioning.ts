/**
 * The rules of distributed joins, shared by the pass that adds exchanges and by the checker: which side may be
 * broadcast, by which conditions both can be co-partitioned, and how the result is partitioned.
 */
import { assertNever } from '../../../scheduler/core/index.ts';
import type { Expression } from '../logical/expression.ts';
import type { JoinCondition, JoinType } from '../logical/relation.ts';
import { sameType } from '../logical/type.ts';
import { moved } from './expressions.ts';
import { RANDOM, shifted, withEquivalentKeys, type Partitioning } from './partitioning.ts';
import { isHashable } from './types.ts';

/** An equality condition by which both sides of a join can be partitioned. */
export interface KeyPair {
  readonly left: Expression;
  readonly right: Expression;
}

/** Whether the right side may be in every task: only if no unmatched right row comes out, as each task would return it. */
export function mayBroadcastRight(type: JoinType): boolean {
  switch (type) {
    case 'inner':
    case 'left':
    case 'semi':
    case 'anti':
    case 'mark':
    case 'single':
      return true;
    case 'right':
    case 'full':
      return false;
    default:
      return assertNever(type);
  }
}

/** The same for the left side. */
export function mayBroadcastLeft(type: JoinType): boolean {
  return type === 'inner' || type === 'right';
}

/**
 * Returns the conditions by which a join can be co-partitioned. Whether a mark join marks a left row NULL depends on
 * every right row that the row is compared with, so only conditions that are never NULL qualify there.
 */
export function keyPairs(type: JoinType, conditions: readonly JoinCondition[]): readonly KeyPair[] {
  return conditions.filter(
    ({ left, right, comparison }) =>
      (comparison === 'IS NOT DISTINCT FROM' || (comparison === '=' && type !== 'mark')) &&
      sameType(left.type, right.type) &&
      isHashable(left.type) &&
      isHashable(right.type),
  );
}

/** Returns the partitioning of a join of co-partitioned sides. `right` is in terms of the join's output columns. */
export function coPartitioned(
  type: JoinType,
  left: Partitioning,
  right: Partitioning,
): Partitioning {
  switch (type) {
    case 'inner':
      if (left.kind !== 'keyed' || right.kind !== 'keyed') return RANDOM;
      return {
        ...left,
        keys: left.keys.map((key, at) => [...key, ...(right.keys[at] ?? [])]),
      };
    case 'left':
    case 'semi':
    case 'anti':
    case 'mark':
    case 'single':
      return left;
    case 'right':
      return right;
    // An unmatched row has NULL for the other side's keys, whichever task it is in.
    case 'full':
      return RANDOM;
    default:
      return assertNever(type);
  }
}

/**
 * Returns the partitioning of a join whose `kept` side stays partitioned while the other one is broadcast. Columns that
 * an inner join makes equal to a key are equivalent keys.
 */
export function broadcastPartitioning(
  type: JoinType,
  pairs: readonly KeyPair[],
  kept: keyof KeyPair,
  partitioning: Partitioning,
  leftWidth: number,
): Partitioning {
  const own = kept === 'left' ? partitioning : shifted(partitioning, leftWidth);
  if (type !== 'inner') return own;
  const names = pairs.map(({ left, right }) => {
    const ofRight = moved(right, (at) => at + leftWidth);
    return kept === 'left' ? { from: left, to: ofRight } : { from: ofRight, to: left };
  });
  return withEquivalentKeys(own, names);
}
