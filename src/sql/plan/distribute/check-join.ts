/** When joins may run in every task by themselves. */
import type { AsOfJoin, Cross, Join, JoinType, Relation } from '../logical/relation.ts';
import { expressionKey } from './expressions.ts';
import {
  keyPairs,
  mayShareLeft,
  mayShareRight,
  metSpread,
  sharedSpread,
  type KeyPair,
} from './place-join.ts';
import { REPLICATED, areAlike, isDivided, shifted, type Spread } from './spread.ts';

type Refuse = (why: string) => never;

export function checkJoin(join: Join, spreads: readonly Spread[], refuse: Refuse): Spread {
  const pairs = keyPairs(join.type, join.conditions);
  const legal = { left: mayShareLeft(join.type), right: mayShareRight(join.type) };
  return checkSides(join, join.type, pairs, legal, spreads, refuse);
}

export function checkCross(cross: Cross, spreads: readonly Spread[], refuse: Refuse): Spread {
  return checkSides(cross, 'inner', [], { left: true, right: true }, spreads, refuse);
}

export function checkAsOf(join: AsOfJoin, spreads: readonly Spread[], refuse: Refuse): Spread {
  const pairs = keyPairs(join.type, join.conditions.slice(0, -1));
  const legal = { left: false, right: mayShareRight(join.type) };
  return checkSides(join, join.type, pairs, legal, spreads, refuse);
}

function checkSides(
  { left: { output } }: { readonly left: Relation },
  type: JoinType,
  pairs: readonly KeyPair[],
  legal: { readonly left: boolean; readonly right: boolean },
  [left = REPLICATED, right = REPLICATED]: readonly Spread[],
  refuse: Refuse,
): Spread {
  const width = output.length;
  if (!isDivided(left) && !isDivided(right)) return REPLICATED;
  if (!isDivided(right)) {
    if (!legal.right) refuse(`a ${type} join with the right side in every task`);
    return sharedSpread(type, pairs, 'left', left, width);
  }
  if (!isDivided(left)) {
    if (!legal.left) refuse(`a ${type} join with the left side in every task`);
    return sharedSpread(type, pairs, 'right', right, width);
  }
  if (!areMet(pairs, left, right)) refuse('rows that match are in different tasks');
  return metSpread(type, left, shifted(right, width));
}

/** Key by key, both sides are divided by what one condition makes equal. */
function areMet(pairs: readonly KeyPair[], left: Spread, right: Spread): boolean {
  if (left.kind !== 'hash' || right.kind !== 'hash' || !areAlike(left, right)) return false;
  return left.keys.every((key, at) => {
    const lefts = new Set(key.map(expressionKey));
    const rights = new Set(right.keys[at]?.map(expressionKey));
    return pairs.some(
      (pair) => lefts.has(expressionKey(pair.left)) && rights.has(expressionKey(pair.right)),
    );
  });
}
