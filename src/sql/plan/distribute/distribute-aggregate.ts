/** Distributes aggregates: in place, in a partial and a final phase, or after an exchange by group. */
import type { AggregateCall, Expression } from '../logical/expression.ts';
import type { Aggregate, Relation } from '../logical/relation.ts';
import { BIGINT } from '../logical/type.ts';
import type { DistributeContext } from './context.ts';
import { column, columnsOf, sameExpression } from './expressions.ts';
import { bytesOf, over, type Subplan } from './subplan.ts';
import { repartitionBy } from './repartition.ts';
import { project } from './relations.ts';
import { expressionStats, groupCount, unknownStats } from './column-stats.ts';
import {
  partialAggregate,
  withoutNeedlessDistinct,
  type PartialAggregate,
} from './partial-aggregate.ts';
import {
  isPartitioned,
  isPartitionedOn,
  throughProjection,
  type Partitioning,
} from './partitioning.ts';
import { aggregateNonDeterminism } from './determinism.ts';
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
  if (isSplit && distinct.length === 0 && maySplit(aggregate))
    return inTwoPhases(context, aggregate, splits, input, chosen);
  if (isSplit && !hasSets(aggregate) && oneValue(distinct) !== null)
    return withDistinct(context, aggregate, oneValue(distinct) as Expression, input, chosen);
  const keys = chosen?.map((at) => aggregate.groups[at] as Expression);
  return applied(aggregate, repartitionBy(context, input, keys ?? groupsOfAllSets(aggregate)));
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

/** The groups that are in every grouping set: rows can be repartitioned by them. */
function groupsOfAllSets({ groups, sets }: Aggregate): readonly Expression[] {
  return groups.filter((_, at) => sets.every((set) => set.includes(at)));
}

/** Whether it is more than a plain GROUP BY. */
function hasSets({ groups, sets }: Aggregate): boolean {
  return sets.length > 1 || sets.some((set) => set.length !== groups.length);
}

/**
 * A grouping set that occurs twice returns its rows twice, and nothing in the partial rows would tell the two apart.
 */
function maySplit({ groups, sets }: Aggregate): boolean {
  if (sets.length <= 1) return true;
  const texts = new Set(sets.map((set) => set.toSorted((a, b) => a - b).join()));
  return texts.size === sets.length && groups.length > 0 && groups.length <= GROUPING_MAX;
}

function groupRows({ groups, rows, sets }: Aggregate, input: Subplan): number {
  if (groups.length === 0) return 1;
  const counted = groupCount(groups, input.columns, input.rows) * Math.max(1, sets.length);
  return Math.min(rows ?? input.rows, counted);
}

/** Runs the aggregate in the tasks where its input is. */
function applied(aggregate: Aggregate, input: Subplan): Subplan {
  const { groups, calls, sets, grouping } = aggregate;
  const isTotal = groups.length === 0;
  // A grouping set without a group makes it NULL; only groups that are in all sets keep their values.
  const kept = groupsOfAllSets(aggregate);
  const isPlain = kept.length === groups.length;
  const outputs = groups.map((group): Expression => (kept.includes(group) ? group : NO_VALUE));
  return over([input], {
    relation: { ...aggregate, input: input.relation },
    partitioning: throughProjection(input.partitioning, isPlain ? groups : outputs),
    rows: groupRows(aggregate, input),
    columns: [
      ...groups.map((group) => expressionStats(group, input.columns)),
      ...calls.map(({ type }) => unknownStats(type)),
      ...grouping.map(() => unknownStats(BIGINT)),
    ],
    nonDeterministic: aggregateNonDeterminism({ ...aggregate, input: input.relation }),
    isOneRow: isTotal && sets.length <= 1,
  });
}

const NO_VALUE: Expression = { kind: 'constant', sql: '<none>', type: BIGINT };

/** Partial phase: each task aggregates its own rows. Final phase: the partial rows are merged by group. */
function inTwoPhases(
  context: DistributeContext,
  aggregate: Aggregate,
  splits: readonly PartialAggregate[],
  input: Subplan,
  chosen: Wanted,
  reduced: Relation | null = null,
): Subplan {
  const { groups } = aggregate;
  const isTotal = groups.length === 0;
  const first = partialPhase(aggregate, splits);
  const before = applied(first, input);
  if (reduced !== null) context.draft.pairPartial(reduced, before.relation);
  const rows = Math.min(groupRows(aggregate, input) * context.draft.partitions, input.rows);
  const partial = { ...before, rows: isTotal ? context.draft.partitions : rows, isOneRow: false };
  const columns = columnsOf(before.relation.output);
  // With several sets, a partial row belongs to a group and a set.
  const setColumn = hasSets(aggregate) ? columns.slice(groups.length + first.calls.length) : [];
  const keys = [...columns.slice(0, groups.length), ...setColumn];
  const by = chosen?.map((at) => keys[at] as Expression) ?? null;
  const exchanged = exchangeByGroup(context, partial, keys, by);
  const merged = finalPhase(aggregate, splits, first, keys, exchanged);
  context.draft.pairPartial(before.relation, merged.relation);
  return results(aggregate, splits, keys.length, merged);
}

/** Of groups that the operators above want by some of their keys, fewer are gathered. */
const WANTED_SHARE = 1 / 16;

/** Few partial rows are gathered in one task, where the operators above can go on without another exchange. */
function exchangeByGroup(
  context: DistributeContext,
  partial: Subplan,
  keys: readonly Expression[],
  chosen: readonly Expression[] | null,
): Subplan {
  const { gatherBytes } = context.settings;
  const few = chosen === null ? gatherBytes : gatherBytes * WANTED_SHARE;
  const isFew = few > 0 && bytesOf(partial) <= few;
  if (keys.length === 0 || isFew) return context.draft.gather(partial);
  const usable = chosen ?? keys.filter(({ type }) => isHashable(type));
  return usable.length === 0
    ? context.draft.gather(partial)
    : context.draft.repartition(partial, usable);
}

function partialPhase(aggregate: Aggregate, splits: readonly PartialAggregate[]): Aggregate {
  const { groups, grouping } = aggregate;
  const calls = splits.flatMap(({ before }) => before);
  const setNumber = groups.map((_, at) => at);
  const marks = hasSets(aggregate) ? [setNumber, ...grouping] : [];
  return {
    ...aggregate,
    calls,
    grouping: marks,
    output: [
      ...groups.map(({ type }) => type),
      ...calls.map(({ type }) => type),
      ...marks.map(() => BIGINT),
    ],
  };
}

function finalPhase(
  aggregate: Aggregate,
  splits: readonly PartialAggregate[],
  first: Aggregate,
  keys: readonly Expression[],
  exchanged: Subplan,
): Subplan {
  const types = first.calls.map(({ type }) => type);
  let offset = aggregate.groups.length;
  const calls: AggregateCall[] = [];
  for (const { before, after } of splits) {
    const at = (place: number): Expression =>
      column(offset + place, types[offset - aggregate.groups.length + place] as Expression['type']);
    for (const { name, args, where, type } of after) {
      const filter = where === null ? null : isPositive(at(where));
      calls.push({ name, args: args.map(at), distinct: false, filter, order: [], type });
    }
    offset += before.length;
  }
  const second: Aggregate = {
    kind: 'aggregate',
    input: exchanged.relation,
    groups: keys,
    sets: keys.length === 0 ? aggregate.sets : [keys.map((_, at) => at)],
    calls,
    grouping: [],
    output: [...keys, ...calls].map(({ type }) => type),
    rows: aggregate.rows,
  };
  return applied(second, exchanged);
}

function isPositive(value: Expression): Expression {
  return {
    kind: 'compare',
    comparison: '>',
    left: value,
    right: { kind: 'constant', sql: 'CAST(0 AS BIGINT)', type: BIGINT },
    type: { sql: 'BOOLEAN', id: 'BOOLEAN' },
  };
}

/** Restores the columns of the aggregate from those of the final phase. */
function results(
  aggregate: Aggregate,
  splits: readonly PartialAggregate[],
  keys: number,
  merged: Subplan,
): Subplan {
  const { groups, grouping } = aggregate;
  const columns = columnsOf(merged.relation.output);
  let offset = keys;
  const finals = splits.map(({ after, result }) => {
    offset += after.length;
    return result(columns.slice(offset - after.length, offset));
  });
  // The number of the set is followed by the value of each GROUPING; for a plain GROUP BY these are all zero.
  const marks = grouping.map((_, at): Expression =>
    keys > groups.length
      ? (columns[groups.length + 1 + at] as Expression)
      : { kind: 'constant', sql: 'CAST(0 AS BIGINT)', type: BIGINT },
  );
  const expressions = [...columns.slice(0, groups.length), ...finals, ...marks];
  const isSame =
    expressions.length === columns.length &&
    expressions.every((each, at) => sameExpression(each, columns[at] as Expression));
  if (isSame) return merged;
  return {
    ...merged,
    relation: project(merged.relation, expressions),
    partitioning: throughProjection(merged.partitioning, expressions),
    columns: expressions.map((each) => expressionStats(each, merged.columns)),
  };
}

/** The one expression with DISTINCT; null if there is none or more than one. */
function oneValue(distinct: readonly AggregateCall[]): Expression | null {
  const [first] = distinct;
  const value = first?.args[0];
  if (value === undefined) return null;
  const areCoPartitioned = distinct.every(
    ({ args, filter }) =>
      filter === null && args.length === 1 && sameExpression(args[0] as Expression, value),
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
  const calls = others.flatMap((split) => split?.before ?? []);
  return {
    ...aggregate,
    groups,
    sets: [groups.map((_, at) => at)],
    calls,
    output: [...groups, ...calls].map(({ type }) => type),
    rows: null,
  };
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
    if (split === null) return [{ ...(aggregate.calls[at] as AggregateCall), args: [value] }];
    const from = offset;
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
