/**
 * Distributes joins. Either one side is broadcast to the tasks of the other, or both are co-partitioned by the keys that
 * must be equal. Which side may be broadcast depends on whose unmatched rows come out: those must be in one task only.
 */
import { assertNever } from '../../../scheduler/core/index.ts';
import type { AsOfJoin, Cross, Join, JoinType, Relation } from '../logical/relation.ts';
import { BOOLEAN } from '../logical/type.ts';
import { EXCHANGE_BYTES, isSoonerRead, likelyCost } from './broadcast-cost.ts';
import { unknownStats, withEqual } from './column-stats.ts';
import type { DistributeContext } from './context.ts';
import type { Draft } from './draft.ts';
import { withoutDuplicates } from './distribute-set.ts';
import { expressionKey } from './expressions.ts';
import {
  broadcastPartitioning,
  coPartitioned,
  keyPairs,
  mayBroadcastLeft,
  mayBroadcastRight,
  type KeyPair,
} from './join-partitioning.ts';
import { joinRows } from './join-rows.ts';
import { broadcastSide } from './read-again.ts';
import {
  SINGLE,
  areCoPartitioned,
  isPartitioned,
  shifted,
  type KeyedPartitioning,
  type Partitioning,
} from './partitioning.ts';
import { bytesOf, over, unpartitioned, type Subplan } from './subplan.ts';

/** What the choice of exchanges needs to know of a join. */
interface JoinSpec {
  readonly type: JoinType;
  readonly pairs: readonly KeyPair[];
  readonly mayBroadcastLeft: boolean;
  readonly mayBroadcastRight: boolean;
  readonly build: (left: Relation, right: Relation) => Relation;
  readonly rows: number | null;
  /** Only the existence of a match counts, and only by these pairs: duplicates on the right can be dropped. */
  readonly isExistence: boolean;
  readonly nonDeterministic: string | null;
}

function isExistence({ type, conditions, predicate }: Join): boolean {
  if (type !== 'semi' && type !== 'anti') return false;
  return predicate === null && keyPairs(type, conditions).length === conditions.length;
}

export function distributeJoin(
  context: DistributeContext,
  join: Join,
  left: Subplan,
  right: Subplan,
): Subplan {
  const isOpen = join.type === 'single' && !join.errorOnMany;
  return distributeSides(context, left, right, {
    type: join.type,
    pairs: keyPairs(join.type, join.conditions),
    mayBroadcastLeft: mayBroadcastLeft(join.type),
    mayBroadcastRight: mayBroadcastRight(join.type),
    build: (leftInput, rightInput) => ({ ...join, left: leftInput, right: rightInput }),
    rows: join.rows,
    isExistence: isExistence(join),
    nonDeterministic: isOpen ? 'a scalar subquery may take any of several rows' : null,
  });
}

export function distributeCross(
  context: DistributeContext,
  cross: Cross,
  left: Subplan,
  right: Subplan,
): Subplan {
  return distributeSides(context, left, right, {
    type: 'inner',
    pairs: [],
    mayBroadcastLeft: true,
    mayBroadcastRight: true,
    build: (leftInput, rightInput) => ({ ...cross, left: leftInput, right: rightInput }),
    rows: cross.rows ?? left.rows * right.rows,
    isExistence: false,
    nonDeterministic: null,
  });
}

/** Each left row takes the nearest right row, so every task must have all right rows that its left rows could match. */
export function distributeAsOf(
  context: DistributeContext,
  join: AsOfJoin,
  left: Subplan,
  right: Subplan,
): Subplan {
  return distributeSides(context, left, right, {
    type: join.type,
    pairs: keyPairs(join.type, join.conditions.slice(0, -1)),
    mayBroadcastLeft: false,
    mayBroadcastRight: mayBroadcastRight(join.type),
    build: (leftInput, rightInput) => ({ ...join, left: leftInput, right: rightInput }),
    rows: join.rows ?? left.rows,
    isExistence: false,
    nonDeterministic: 'an ASOF join may take any of several nearest rows',
  });
}

function distributeSides(
  context: DistributeContext,
  left: Subplan,
  right: Subplan,
  spec: JoinSpec,
): Subplan {
  const isWhole = !isPartitioned(left.partitioning) && !isPartitioned(right.partitioning);
  if (isWhole) return joined(context.draft, spec, left, right, unpartitioned([left, right]));
  if (
    right.partitioning.kind === 'replicated' &&
    spec.mayBroadcastRight &&
    isPartitioned(left.partitioning)
  )
    return joinBroadcast(context.draft, spec, 'left', left, right);
  if (
    left.partitioning.kind === 'replicated' &&
    spec.mayBroadcastLeft &&
    isPartitioned(right.partitioning)
  )
    return joinBroadcast(context.draft, spec, 'right', left, right);
  const both = repartitionBoth(context, spec, left, right);
  // Where it is to be decided by sizes wherever possible, estimates decide nothing.
  const isLater = both !== null && context.settings.adaptiveJoins === 2;
  const plans = [
    joinInPlace(context.draft, spec, left, right),
    isLater ? null : broadcast(context, spec, 'left', left, right),
    isLater ? null : broadcast(context, spec, 'right', left, right),
    both,
  ].filter((plan) => plan !== null);
  const best = plans.toSorted((a, b) => a.cost - b.cost)[0];
  const surer = best?.isRead === true ? best : (plans.find((plan) => isSurer(plan, best)) ?? best);
  if (surer !== undefined) return surer.build();
  const all = [context.draft.gather(left), context.draft.gather(right)] as const;
  return joined(context.draft, spec, ...all, unpartitioned(all));
}

/** A table whose rows are known costs less than rows that are likely to be more than estimated. */
function isSurer({ isRead = false, likelyCost = Infinity }: JoinPlan, best?: JoinPlan): boolean {
  return isRead && likelyCost < (best?.likelyCost ?? 0);
}

/** One way to run a join; the cheapest one is taken. */
interface JoinPlan {
  /** Bytes written and read for it. */
  readonly cost: number;
  /** The same of a broadcast, if its rows are more than estimated. */
  readonly likelyCost?: number;
  /** Every task reads a table, whose rows are known. */
  readonly isRead?: boolean;
  readonly build: () => Subplan;
}

/** One side keeps its partitioning, and the other is broadcast. */
function broadcast(
  context: DistributeContext,
  spec: JoinSpec,
  kept: keyof KeyPair,
  left: Subplan,
  right: Subplan,
): JoinPlan | null {
  const { draft } = context;
  const isLeft = kept === 'left';
  const [given, sent] = isLeft ? [left, right] : [right, left];
  const mayBeSent = isLeft ? spec.mayBroadcastRight : spec.mayBroadcastLeft;
  if (!mayBeSent || !mayBroadcast(context, spec, sent)) return null;
  const isRead = isSoonerRead(draft, sent);
  const cost = bytesOf(sent) * draft.partitions + (isRead ? 0 : EXCHANGE_BYTES);
  const inOneTask = (): Subplan => {
    const both = [draft.gather(left), draft.gather(right)] as const;
    return joined(draft, spec, ...both, unpartitioned(both));
  };
  if (!isPartitioned(given.partitioning)) {
    // One side is in one task, so the other only has to reach that one. A table that all tasks have can still be partitioned.
    const maySplit = given.partitioning.kind === 'replicated' && given.scan !== null;
    if (!maySplit || !isRead) return { cost: gatherCost(sent), build: inOneTask };
  }
  const { oneRowGatherBytes = 0 } = context.settings;
  if (sent.isOneRow && bytesOf(given) <= oneRowGatherBytes) return { cost: 0, build: inOneTask };
  const build = (): Subplan => {
    const stays = draft.partition(given);
    const all = isRead ? draft.replicate(sent) : broadcastSide(draft, sent);
    return isLeft
      ? joinBroadcast(draft, spec, kept, stays, all)
      : joinBroadcast(draft, spec, kept, all, stays);
  };
  return { cost, build, isRead, likelyCost: likelyCost(draft, sent, isRead) };
}

/** Weighted by 4: from here on one task does all the work. */
function gatherCost(side: Subplan): number {
  return bytesOf(side) * 4 + EXCHANGE_BYTES;
}

/** Whether a side may be broadcast: when it is small, or when there is no key to partition by. */
function mayBroadcast(
  context: DistributeContext,
  { type, pairs }: JoinSpec,
  side: Subplan,
): boolean {
  const { broadcastThresholdBytes } = context.settings;
  if (side.isOneRow) return true;
  if (pairs.length === 0) return type === 'mark' || broadcastThresholdBytes > 0;
  return broadcastThresholdBytes > 0 && bytesOf(side) <= broadcastThresholdBytes;
}

/** Needs no exchange: both sides are co-partitioned, or would be with the same range bounds. */
function joinInPlace(
  draft: Draft,
  { pairs, ...spec }: JoinSpec,
  left: Subplan,
  right: Subplan,
): JoinPlan | null {
  const [ofLeft, ofRight] = [left.partitioning, right.partitioning];
  if (ofLeft.kind !== 'keyed' || ofRight.kind !== 'keyed') return null;
  const used = usedPairs(ofLeft, pairs, 'left');
  const alsoUsed = usedPairs(ofRight, pairs, 'right');
  if (used === null || used.length !== alsoUsed?.length) return null;
  if (used.some((pair, at) => pair !== alsoUsed[at])) return null;
  const { range } = ofLeft;
  const other = ofRight.range;
  const canUnify = range !== null && other !== null && range.canUnify(other);
  if (!canUnify && !areCoPartitioned(ofLeft, ofRight)) return null;
  const build = (): Subplan => {
    if (canUnify) range.unify(other);
    return joinCoPartitioned(draft, { ...spec, pairs }, left, right);
  };
  return { cost: 0, build };
}

function repartitionBoth(
  context: DistributeContext,
  spec: JoinSpec,
  left: Subplan,
  right: Subplan,
): JoinPlan | null {
  const { pairs } = spec;
  if (pairs.length === 0) return null;
  const ofLeft = hashedPairs(left.partitioning, pairs, 'left');
  const ofRight = hashedPairs(right.partitioning, pairs, 'right');
  const keepsLeft = ofLeft !== null && (ofRight === null || bytesOf(left) >= bytesOf(right));
  const used = keepsLeft ? ofLeft : (ofRight ?? pairs);
  const movesLeft = used !== ofLeft;
  const movesRight = used !== ofRight;
  const cost =
    (movesLeft ? 2 * bytesOf(left) + EXCHANGE_BYTES : 0) +
    (movesRight ? 2 * bytesOf(right) + EXCHANGE_BYTES : 0);
  const build = (): Subplan => {
    const { draft } = context;
    const leftKeys = used.map((pair) => pair.left);
    const rightKeys = used.map((pair) => pair.right);
    const movedLeft = movesLeft ? draft.repartition(left, leftKeys) : left;
    // Only existence counts, so one row of each value is enough.
    const isReduced = movesRight && spec.isExistence && right.rows > left.rows;
    const reduced = isReduced ? withoutDuplicates(right) : right;
    const movedRight = movesRight ? draft.repartition(reduced, rightKeys) : right;
    const result = joinCoPartitioned(context.draft, spec, movedLeft, movedRight);
    if (isReduced) draft.pairPartial(reduced.relation, result.relation);
    return result;
  };
  return { cost, build };
}

/** Joins sides whose matching rows are in the same task. */
function joinCoPartitioned(draft: Draft, spec: JoinSpec, left: Subplan, right: Subplan): Subplan {
  const width = left.relation.output.length;
  const partitioning = coPartitioned(
    spec.type,
    left.partitioning,
    shifted(right.partitioning, width),
  );
  return joined(draft, spec, left, right, partitioning);
}

/** The pairs by which a side is hash-partitioned. A range-partitioned side does not match what an exchange sends. */
function hashedPairs(
  partitioning: Partitioning,
  pairs: readonly KeyPair[],
  side: keyof KeyPair,
): readonly KeyPair[] | null {
  return partitioning.kind === 'keyed' && partitioning.range === null
    ? usedPairs(partitioning, pairs, side)
    : null;
}

/** The pairs by which a side is partitioned already, in that order; null if it is partitioned by anything else. */
function usedPairs(
  partitioning: KeyedPartitioning,
  pairs: readonly KeyPair[],
  side: keyof KeyPair,
): readonly KeyPair[] | null {
  const used = partitioning.keys.map((key) => {
    const texts = new Set(key.map(expressionKey));
    return pairs.find((pair) => texts.has(expressionKey(pair[side])));
  });
  return used.every((pair) => pair !== undefined) ? used : null;
}

/** Joins a side that stays partitioned, `kept`, with one that every task has in full. */
function joinBroadcast(
  draft: Draft,
  spec: JoinSpec,
  kept: keyof KeyPair,
  left: Subplan,
  right: Subplan,
): Subplan {
  const { partitioning } = kept === 'left' ? left : right;
  const width = left.relation.output.length;
  const result = broadcastPartitioning(spec.type, spec.pairs, kept, partitioning, width);
  return joined(draft, spec, left, right, result);
}

function joined(
  draft: Draft,
  spec: JoinSpec,
  left: Subplan,
  right: Subplan,
  partitioning: Partitioning,
): Subplan {
  const relation = spec.build(left.relation, right.relation);
  const isMark = spec.type === 'mark';
  const width = left.columns.length;
  const equal = spec.pairs.flatMap(({ left: one, right: other }) =>
    one.kind === 'column' && other.kind === 'column'
      ? [[one.index, width + other.index] as const]
      : [],
  );
  const both = isMark ? left.columns : withEqual([...left.columns, ...right.columns], equal);
  const columns = [...both, ...(isMark ? [unknownStats(BOOLEAN)] : [])].slice(
    0,
    relation.output.length,
  );
  return over([left, right], {
    relation,
    partitioning: partitioning.kind === 'single' ? SINGLE : partitioning,
    rows: joinRows(draft, spec, left, right),
    columns,
    nonDeterministic: spec.nonDeterministic,
    isOneRow: isOneRow(spec.type, left, right),
  });
}

function isOneRow(type: JoinType, left: Subplan, right: Subplan): boolean {
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
