/** Distributes aggregates: in place, in a partial and a final phase, or after an exchange by group. */
import type { AggregateCall, Expression } from '../logical/expression.ts';
import type { Aggregate, Relation } from '../logical/relation.ts';
import { BIGINT } from '../logical/type.ts';
import {
  applied,
  groupsOfAllSets,
  hasSets,
  inTwoPhases,
  isGathered,
  isPositive,
  results,
} from './aggregate-phases.ts';
import { combinations, likelyCombinations } from './column-stats.ts';
import type { DistributeContext } from './context.ts';
import { scanRows } from './distribute-scan.ts';
import type { Draft } from './draft.ts';
import { column, columnsOf, sameExpression } from './expressions.ts';
import { eachRelation } from './relations.ts';
import type { Subplan } from './subplan.ts';
import { repartitionBy } from './repartition.ts';
import {
  partialAggregate,
  withoutNeedlessDistinct,
  type PartialAggregate,
} from './partial-aggregate.ts';
import { isPartitioned, isPartitionedOn, type Partitioning } from './partitioning.ts';
import { isHashable } from './types.ts';
import { wantedKeys, type Wanted } from './wanted-keys.ts';

/** GROUPING takes at most this many columns. */
const GROUPING_MAX = 60;

export function distributeAggregate(
  context: DistributeContext,
  given: Aggregate,
  input: Subplan,
  wanted: Wanted = null,
): Subplan {
  const aggregate = { ...given, calls: given.calls.map(withoutNeedlessDistinct) };
  if (!isPartitioned(input.partitioning) || isLocal(aggregate, input.partitioning))
    return applied(aggregate, input);
  const chosen = chosenGroups(context, aggregate, input, wanted);
  const splits = aggregate.calls.map(partialAggregate);
  const isSplit = splits.every((split) => split !== null);
  const distinct = aggregate.calls.filter((call) => call.distinct);
  const isPlain = isSplit && distinct.length === 0 && maySplit(aggregate);
  if (isPlain && seemsToReduce(context, aggregate, splits, input))
    return inTwoPhases(context, aggregate, splits, input, chosen);
  if (isSplit && !hasSets(aggregate) && oneValue(distinct) !== null)
    return withDistinct(context, aggregate, oneValue(distinct) as Expression, input, chosen);
  const keys = chosen?.map((at) => aggregate.groups[at] as Expression);
  return applied(aggregate, repartitionBy(context, input, keys ?? groupsOfAllSets(aggregate)));
}

/** With so many possible groups for each row that any table has, nearly every row is a group of its own. */
const GROUPS_PER_ROW = 8;
/** A partial phase that leaves more rows than this takes longer than sending all of them. */
const LEFT_MAX = 0.5;

/** Whether a partial phase leaves fewer rows to be exchanged. If not, it only groups them once more. */
function seemsToReduce(
  context: DistributeContext,
  aggregate: Aggregate,
  splits: readonly PartialAggregate[],
  input: Subplan,
): boolean {
  const { groups } = aggregate;
  if (hasSets(aggregate) || !groups.some(({ type }) => isHashable(type))) return true;
  if (isGathered(context, aggregate, splits, input)) return true;
  const { draft } = context;
  const most = Math.max(input.rows, largestTable(draft, input.relation));
  if (combinations(groups, input.columns) >= GROUPS_PER_ROW * most) return false;
  const perTask = Math.sqrt(most * Math.max(1, input.rows)) / draft.partitions;
  const groupsLeft = distinctOf(perTask, likelyCombinations(groups, input.columns, most));
  return groupsLeft <= LEFT_MAX * perTask;
}

/** So many groups are expected in rows that fall into any of them alike. */
function distinctOf(rows: number, groups: number): number {
  return groups === Infinity ? rows : groups * -Math.expm1(-rows / groups);
}

/** The rows of the largest table that it reads: a filter or join may leave many more rows than estimated, but hardly more than these. */
export function largestTable(draft: Draft, relation: Relation): number {
  const rows = [...eachRelation(relation)].map((each) => {
    const leaf = each.kind === 'input' ? draft.leaves.get(each.relation) : undefined;
    if (leaf?.kind === 'scan') return scanRows(leaf);
    const stage = leaf?.kind === 'stage' ? draft.stages[leaf.stage] : undefined;
    return stage === undefined ? 0 : largestTable(draft, stage.relation);
  });
  return Math.max(...rows);
}

/** Indexes of the groups by which to repartition, if the operators above want to find them together; null for all. */
function chosenGroups(
  { draft }: DistributeContext,
  { groups, sets }: Aggregate,
  { columns }: Subplan,
  wanted: Wanted,
): Wanted {
  const isOfAllSets = wanted?.every((at) => sets.every((set) => set.includes(at))) === true;
  return isOfAllSets && wantedKeys(wanted, groups, columns, draft.partitions) !== null
    ? wanted
    : null;
}

/** Whether all rows of any group are in one task. */
function isLocal({ groups, sets }: Aggregate, partitioning: Partitioning): boolean {
  if (groups.length === 0) return false;
  const each = sets.length === 0 ? [groups.map((_, at) => at)] : sets;
  return each.every((set) =>
    isPartitionedOn(
      partitioning,
      set.map((at) => groups[at] as Expression),
    ),
  );
}

/**
 * A grouping set that occurs twice returns its rows twice, and nothing in the partial rows would tell the two apart.
 */
function maySplit({ groups, sets }: Aggregate): boolean {
  if (sets.length <= 1) return true;
  const texts = new Set(sets.map((set) => set.toSorted((a, b) => a - b).join()));
  return texts.size === sets.length && groups.length > 0 && groups.length <= GROUPING_MAX;
}

/** The one expression with DISTINCT; null if there is none or more than one. */
function oneValue(distinct: readonly AggregateCall[]): Expression | null {
  const [first] = distinct;
  const value = first?.args[0];
  if (value === undefined) return null;
  const areCoPartitioned = distinct.every(
    ({ args }) => args.length === 1 && sameExpression(args[0] as Expression, value),
  );
  return areCoPartitioned ? value : null;
}

/**
 * Aggregates with DISTINCT. Duplicates are dropped before the exchange: each task groups by the value as well and
 * computes the partial phase of the other aggregates beside it. The exchange is then by group; for a total it is by
 * value, and the counts are added up.
 */
function withDistinct(
  context: DistributeContext,
  aggregate: Aggregate,
  value: Expression,
  input: Subplan,
  chosen: Wanted,
): Subplan {
  const { groups, calls } = aggregate;
  const isTotal = groups.length === 0;
  if (!isHashable(value.type) && isTotal) return applied(aggregate, context.draft.gather(input));
  const others = calls.map((call) => (call.distinct ? null : partialAggregate(call)));
  const reduced = reduction(aggregate, value, others);
  const before = applied(reduced, input);
  const keys = columnsOf(reduced.output).slice(0, groups.length);
  const valueColumn = column(groups.length, value.type);
  const by = chosen?.map((at) => keys[at] as Expression) ?? keys;
  const exchanged = repartitionBy(context, before, isTotal ? [valueColumn] : by);
  const again = overReduced(aggregate, valueColumn, others, keys, exchanged.relation);
  if (!isTotal || !isPartitioned(exchanged.partitioning)) {
    const merged = applied(again, exchanged);
    context.draft.pairPartial(before.relation, merged.relation);
    return finished(aggregate, others, merged);
  }
  // Each value is now in one task, so the sum of the local distinct counts is exact.
  const splits = again.calls.map(partialAggregate).filter((split) => split !== null);
  const total = inTwoPhases(context, again, splits, exchanged, null, before.relation);
  return finished(aggregate, others, total);
}

function reduction(
  aggregate: Aggregate,
  value: Expression,
  others: readonly (PartialAggregate | null)[],
): Aggregate {
  const groups = [...aggregate.groups, value];
  const calls = others.flatMap(
    (split, at) => split?.before ?? countedMatches(aggregate.calls[at] as AggregateCall),
  );
  return {
    ...aggregate,
    groups,
    sets: [groups.map((_, at) => at)],
    calls,
    output: [...groups, ...calls].map(({ type }) => type),
    rows: null,
  };
}

/** Of a call with DISTINCT and a filter: how many rows with the value pass it. */
function countedMatches({ filter }: AggregateCall): readonly AggregateCall[] {
  if (filter === null) return [];
  return [{ name: 'count', args: [], distinct: false, filter, order: [], type: BIGINT }];
}

/** The aggregate over the deduplicated rows: distinct values as they are, the other aggregates merged. */
function overReduced(
  aggregate: Aggregate,
  value: Expression,
  others: readonly (PartialAggregate | null)[],
  keys: readonly Expression[],
  input: Relation,
): Aggregate {
  let offset = keys.length + 1;
  const calls = others.flatMap((split, at): AggregateCall[] => {
    const from = offset;
    if (split === null) {
      const call = aggregate.calls[at] as AggregateCall;
      offset += countedMatches(call).length;
      const filter = call.filter === null ? null : isPositive(column(from, BIGINT));
      return [{ ...call, args: [value], filter }];
    }
    offset += split.before.length;
    const place = (index: number): Expression =>
      column(from + index, split.before[index]?.type as Expression['type']);
    return split.after.map(({ name, args, where, type }) => ({
      ...{ name, type, distinct: false, order: [], args: args.map(place) },
      filter: where === null ? null : isPositive(place(where)),
    }));
  });
  return {
    ...aggregate,
    input,
    groups: keys,
    sets: keys.length === 0 ? aggregate.sets : [keys.map((_, at) => at)],
    calls,
    output: [...keys, ...calls].map(({ type }) => type),
  };
}

function finished(
  aggregate: Aggregate,
  others: readonly (PartialAggregate | null)[],
  merged: Subplan,
): Subplan {
  const asIs: PartialAggregate = {
    before: [],
    after: [{ name: '', args: [], where: null, type: BIGINT }],
    result: ([made]) => made as Expression,
  };
  const splits = others.map((split) => split ?? asIs);
  return results(aggregate, splits, aggregate.groups.length, merged);
}
