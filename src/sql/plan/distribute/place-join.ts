/**
 * Joins. Either one side is there in full wherever the other one has rows, or both are divided by the keys that
 * must be equal. Which sides may be there in full depends on whose rows come out without a match: those must not be
 * in more than one task.
 */
import { assertNever } from '../../../scheduler/core/index.ts';
import type { Expression } from '../logical/expression.ts';
import type {
  AsOfJoin,
  Cross,
  Join,
  JoinCondition,
  JoinType,
  Relation,
} from '../logical/relation.ts';
import { BOOLEAN, sameType } from '../logical/type.ts';
import type { PlaceContext } from './context.ts';
import { expressionKey, moved } from './expressions.ts';
import { withoutDuplicates } from './place-rows.ts';
import { bytesOf, over, wholeSpread, type Part } from './part.ts';
import { unknownSize } from './sizes.ts';
import {
  RANDOM,
  SINGLE,
  areAlike,
  isDivided,
  shifted,
  withEqual,
  type KeyedSpread,
  type Spread,
} from './spread.ts';
import { isHashable } from './types.ts';

/** What a pair of columns is divided by on both sides. */
export interface KeyPair {
  readonly left: Expression;
  readonly right: Expression;
}

/** The right side may be in every task: left rows are each in one. */
export function mayShareRight(type: JoinType): boolean {
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

export function mayShareLeft(type: JoinType): boolean {
  return type === 'inner' || type === 'right';
}

/**
 * Conditions that rows of different tasks can never meet. Whether a left row of a mark join is marked NULL depends
 * on every right row that it is compared with, so only conditions that are never NULL divide one.
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

/** An operator with two sides, for the choice of how they meet. */
interface Meeting {
  readonly type: JoinType;
  readonly pairs: readonly KeyPair[];
  readonly mayShareLeft: boolean;
  readonly mayShareRight: boolean;
  readonly build: (left: Relation, right: Relation) => Relation;
  readonly rows: number | null;
  /** Only whether there is a match counts, and only by these pairs. */
  readonly isExistence: boolean;
  readonly unstable: string | null;
}

function isExistence({ type, conditions, predicate }: Join): boolean {
  if (type !== 'semi' && type !== 'anti') return false;
  return predicate === null && keyPairs(type, conditions).length === conditions.length;
}

export function placeJoin(placing: PlaceContext, join: Join, left: Part, right: Part): Part {
  const isOpen = join.type === 'single' && !join.errorOnMany;
  return meet(placing, left, right, {
    type: join.type,
    pairs: keyPairs(join.type, join.conditions),
    mayShareLeft: mayShareLeft(join.type),
    mayShareRight: mayShareRight(join.type),
    build: (leftInput, rightInput) => ({ ...join, left: leftInput, right: rightInput }),
    rows: join.rows,
    isExistence: isExistence(join),
    unstable: isOpen ? 'which of several rows a scalar subquery takes is open' : null,
  });
}

export function placeCross(placing: PlaceContext, cross: Cross, left: Part, right: Part): Part {
  return meet(placing, left, right, {
    type: 'inner',
    pairs: [],
    mayShareLeft: true,
    mayShareRight: true,
    build: (leftInput, rightInput) => ({ ...cross, left: leftInput, right: rightInput }),
    rows: cross.rows ?? left.rows * right.rows,
    isExistence: false,
    unstable: null,
  });
}

/** Each left row looks for the nearest right one, so it must see all that it could match. */
export function placeAsOf(placing: PlaceContext, join: AsOfJoin, left: Part, right: Part): Part {
  return meet(placing, left, right, {
    type: join.type,
    pairs: keyPairs(join.type, join.conditions.slice(0, -1)),
    mayShareLeft: false,
    mayShareRight: mayShareRight(join.type),
    build: (leftInput, rightInput) => ({ ...join, left: leftInput, right: rightInput }),
    rows: join.rows ?? left.rows,
    isExistence: false,
    unstable: 'which of several nearest rows an ASOF join takes is open',
  });
}

function meet(placing: PlaceContext, left: Part, right: Part, meeting: Meeting): Part {
  const isWhole = !isDivided(left.spread) && !isDivided(right.spread);
  if (isWhole) return joined(meeting, left, right, wholeSpread([left, right]));
  if (right.spread.kind === 'replicated' && meeting.mayShareRight && isDivided(left.spread))
    return withRightShared(meeting, left, right);
  if (left.spread.kind === 'replicated' && meeting.mayShareLeft && isDivided(right.spread))
    return withLeftShared(meeting, left, right);
  const ways = [
    meetInPlace(meeting, left, right),
    shareRight(placing, meeting, left, right),
    shareLeft(placing, meeting, left, right),
    divideBoth(placing, meeting, left, right),
  ].filter((way) => way !== null);
  const best = ways.toSorted((a, b) => a.cost - b.cost)[0];
  if (best !== undefined) return best.go();
  const all = [placing.draft.gathered(left), placing.draft.gathered(right)] as const;
  return joined(meeting, ...all, wholeSpread(all));
}

interface Way {
  /** Bytes that are written and read for it. */
  readonly cost: number;
  readonly go: () => Part;
}

function shareRight(placing: PlaceContext, meeting: Meeting, left: Part, right: Part): Way | null {
  if (!meeting.mayShareRight || !maySend(placing, meeting, right)) return null;
  // The left side is in one place: what is sent comes to it alone.
  if (!isDivided(left.spread)) {
    const go = (): Part => {
      const all = placing.draft.gathered(right);
      return joined(meeting, left, all, wholeSpread([left, all]));
    };
    return { cost: gatherCost(right), go };
  }
  const go = (): Part => withRightShared(meeting, left, placing.draft.shared(right));
  return { cost: shareCost(placing, right), go };
}

function shareLeft(placing: PlaceContext, meeting: Meeting, left: Part, right: Part): Way | null {
  if (!meeting.mayShareLeft || !maySend(placing, meeting, left)) return null;
  if (!isDivided(right.spread)) {
    const go = (): Part => {
      const all = placing.draft.gathered(left);
      return joined(meeting, all, right, wholeSpread([all, right]));
    };
    return { cost: gatherCost(left), go };
  }
  const go = (): Part => withLeftShared(meeting, placing.draft.shared(left), right);
  return { cost: shareCost(placing, left), go };
}

function shareCost({ draft }: PlaceContext, part: Part): number {
  return bytesOf(part) * draft.partitions + EXCHANGE_BYTES;
}

/** From then on one task does all the work. */
function gatherCost(part: Part): number {
  return bytesOf(part) * 4 + EXCHANGE_BYTES;
}

/** A stage more costs time even if it moves next to nothing: so many bytes could be moved in it. */
const EXCHANGE_BYTES = 2 * 1024 * 1024;

/** Whether a side may go to every task: when it is small, or when there is nothing to divide by. */
function maySend(placing: PlaceContext, { type, pairs }: Meeting, part: Part): boolean {
  const { broadcastThresholdBytes } = placing.settings;
  if (part.isOneRow) return true;
  if (pairs.length === 0) return type === 'mark' || broadcastThresholdBytes > 0;
  return broadcastThresholdBytes > 0 && bytesOf(part) <= broadcastThresholdBytes;
}

/** Both sides have the rows that belong together in the same task, or would by the same cuts: nothing is sent. */
function meetInPlace({ pairs, ...meeting }: Meeting, left: Part, right: Part): Way | null {
  const [ofLeft, ofRight] = [left.spread, right.spread];
  if (ofLeft.kind !== 'hash' || ofRight.kind !== 'hash') return null;
  const used = usedPairs(ofLeft, pairs, 'left');
  const alsoUsed = usedPairs(ofRight, pairs, 'right');
  if (used === null || used.length !== alsoUsed?.length) return null;
  if (used.some((pair, at) => pair !== alsoUsed[at])) return null;
  const { division } = ofLeft;
  const other = ofRight.division;
  const canJoin = division !== null && other !== null && division.canJoin(other);
  if (!canJoin && !areAlike(ofLeft, ofRight)) return null;
  const go = (): Part => {
    if (canJoin) division.join(other);
    return met({ ...meeting, pairs }, left, right);
  };
  return { cost: 0, go };
}

function divideBoth(placing: PlaceContext, meeting: Meeting, left: Part, right: Part): Way | null {
  const { pairs } = meeting;
  if (pairs.length === 0) return null;
  const ofLeft = hashedPairs(left.spread, pairs, 'left');
  const ofRight = hashedPairs(right.spread, pairs, 'right');
  const keepsLeft = ofLeft !== null && (ofRight === null || bytesOf(left) >= bytesOf(right));
  const used = keepsLeft ? ofLeft : (ofRight ?? pairs);
  const movesLeft = used !== ofLeft;
  const movesRight = used !== ofRight;
  const cost =
    (movesLeft ? 2 * bytesOf(left) + EXCHANGE_BYTES : 0) +
    (movesRight ? 2 * bytesOf(right) + EXCHANGE_BYTES : 0);
  const go = (): Part => {
    const { draft } = placing;
    const leftKeys = used.map((pair) => pair.left);
    const rightKeys = used.map((pair) => pair.right);
    const movedLeft = movesLeft ? draft.hashed(left, leftKeys) : left;
    // One row of each value is as good as many.
    const isReduced = movesRight && meeting.isExistence && right.rows > left.rows;
    const reduced = isReduced ? withoutDuplicates(right) : right;
    const movedRight = movesRight ? draft.hashed(reduced, rightKeys) : right;
    const result = met(meeting, movedLeft, movedRight);
    if (isReduced) draft.pair(reduced.relation, result.relation);
    return result;
  };
  return { cost, go };
}

/** Rows that belong together are in the same task. */
function met(meeting: Meeting, left: Part, right: Part): Part {
  const width = left.relation.output.length;
  const spread = metSpread(meeting.type, left.spread, shifted(right.spread, width));
  return joined(meeting, left, right, spread);
}

/** Only what is divided by hash can be met by what is sent. */
function hashedPairs(
  spread: Spread,
  pairs: readonly KeyPair[],
  side: keyof KeyPair,
): readonly KeyPair[] | null {
  return spread.kind === 'hash' && spread.division === null ? usedPairs(spread, pairs, side) : null;
}

/** The pairs that a side is divided by already, in that order; null when it is divided by anything else. */
function usedPairs(
  spread: KeyedSpread,
  pairs: readonly KeyPair[],
  side: keyof KeyPair,
): readonly KeyPair[] | null {
  const used = spread.keys.map((key) => {
    const texts = new Set(key.map(expressionKey));
    return pairs.find((pair) => texts.has(expressionKey(pair[side])));
  });
  return used.every((pair) => pair !== undefined) ? used : null;
}

/** Both sides are divided alike: by whose keys the result is. The right ones speak of the result's columns. */
export function metSpread(type: JoinType, left: Spread, right: Spread): Spread {
  switch (type) {
    case 'inner':
      if (left.kind !== 'hash' || right.kind !== 'hash') return RANDOM;
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
    // A row without a match has NULL for the keys of the other side, wherever it is.
    case 'full':
      return RANDOM;
    default:
      return assertNever(type);
  }
}

/** One side stays as it is, the other one is there in full. What an inner join makes equal is another name for the
 * same key. */
export function sharedSpread(
  type: JoinType,
  pairs: readonly KeyPair[],
  kept: keyof KeyPair,
  spread: Spread,
  leftWidth: number,
): Spread {
  const own = kept === 'left' ? spread : shifted(spread, leftWidth);
  if (type !== 'inner') return own;
  const names = pairs.map(({ left, right }) => {
    const ofRight = moved(right, (at) => at + leftWidth);
    return kept === 'left' ? { from: left, to: ofRight } : { from: ofRight, to: left };
  });
  return withEqual(own, names);
}

function withRightShared(meeting: Meeting, left: Part, right: Part): Part {
  const width = left.relation.output.length;
  const spread = sharedSpread(meeting.type, meeting.pairs, 'left', left.spread, width);
  return joined(meeting, left, right, spread);
}

function withLeftShared(meeting: Meeting, left: Part, right: Part): Part {
  const width = left.relation.output.length;
  const spread = sharedSpread(meeting.type, meeting.pairs, 'right', right.spread, width);
  return joined(meeting, left, right, spread);
}

function joined(meeting: Meeting, left: Part, right: Part, spread: Spread): Part {
  const relation = meeting.build(left.relation, right.relation);
  const isMark = meeting.type === 'mark';
  const added = isMark ? [unknownSize(BOOLEAN)] : right.columns;
  const columns = [...left.columns, ...added].slice(0, relation.output.length);
  return over([left, right], {
    relation,
    spread: spread.kind === 'single' ? SINGLE : spread,
    rows: meeting.rows ?? guessedRows(meeting.type, left.rows, right.rows),
    columns,
    unstable: meeting.unstable,
    isOneRow: isOneRow(meeting.type, left, right),
  });
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

function isOneRow(type: JoinType, left: Part, right: Part): boolean {
  switch (type) {
    case 'semi':
    case 'anti':
    case 'mark':
    case 'single':
      return left.isOneRow;
    case 'inner':
      return left.isOneRow && right.isOneRow;
    case 'left':
    case 'right':
    case 'full':
      return false;
    default:
      return assertNever(type);
  }
}
