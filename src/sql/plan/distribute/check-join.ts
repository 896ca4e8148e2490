/** Checks that a join may run in every task on its own. */
import type { AsOfJoin, Cross, Join, JoinType, Relation } from '../logical/relation.ts';
import { expressionKey } from './expressions.ts';
import {
  keyPairs,
  mayBroadcastLeft,
  mayBroadcastRight,
  coPartitioned,
  broadcastPartitioning,
  type KeyPair,
} from './join-partitioning.ts';
import {
  REPLICATED,
  areCoPartitioned,
  isPartitioned,
  shifted,
  type Partitioning,
} from './partitioning.ts';

type Refuse = (why: string) => never;

export function checkJoin(
  join: Join,
  partitionings: readonly Partitioning[],
  refuse: Refuse,
): Partitioning {
  const pairs = keyPairs(join.type, join.conditions);
  const legal = { left: mayBroadcastLeft(join.type), right: mayBroadcastRight(join.type) };
  return checkSides(join, join.type, pairs, legal, partitionings, refuse);
}

export function checkCross(
  cross: Cross,
  partitionings: readonly Partitioning[],
  refuse: Refuse,
): Partitioning {
  return checkSides(cross, 'inner', [], { left: true, right: true }, partitionings, refuse);
}

export function checkAsOf(
  join: AsOfJoin,
  partitionings: readonly Partitioning[],
  refuse: Refuse,
): Partitioning {
  const pairs = keyPairs(join.type, join.conditions.slice(0, -1));
  const legal = { left: false, right: mayBroadcastRight(join.type) };
  return checkSides(join, join.type, pairs, legal, partitionings, refuse);
}

function checkSides(
  { left: { output } }: { readonly left: Relation },
  type: JoinType,
  pairs: readonly KeyPair[],
  legal: { readonly left: boolean; readonly right: boolean },
  [left = REPLICATED, right = REPLICATED]: readonly Partitioning[],
  refuse: Refuse,
): Partitioning {
  const width = output.length;
  if (!isPartitioned(left) && !isPartitioned(right)) return REPLICATED;
  if (!isPartitioned(right)) {
    if (!legal.right) refuse(`a ${type} join with the right side in every task`);
    return broadcastPartitioning(type, pairs, 'left', left, width);
  }
  if (!isPartitioned(left)) {
    if (!legal.left) refuse(`a ${type} join with the left side in every task`);
    return broadcastPartitioning(type, pairs, 'right', right, width);
  }
  if (!areKeysMatched(pairs, left, right)) refuse('rows that match are in different tasks');
  return coPartitioned(type, left, shifted(right, width));
}

/** Whether, key by key, both sides are partitioned by expressions that one condition makes equal. */
function areKeysMatched(
  pairs: readonly KeyPair[],
  left: Partitioning,
  right: Partitioning,
): boolean {
  if (left.kind !== 'keyed' || right.kind !== 'keyed' || !areCoPartitioned(left, right))
    return false;
  return left.keys.every((key, at) => {
    const lefts = new Set(key.map(expressionKey));
    const rights = new Set(right.keys[at]?.map(expressionKey));
    return pairs.some(
      (pairPartial) =>
        lefts.has(expressionKey(pairPartial.left)) && rights.has(expressionKey(pairPartial.right)),
    );
  });
}
