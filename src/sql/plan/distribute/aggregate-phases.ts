/** The phases of an aggregate: each task aggregates its own rows, the partial rows are exchanged, and merged by group. */
import type { AggregateCall, Expression } from '../logical/expression.ts';
import type { Aggregate, Relation } from '../logical/relation.ts';
import { BIGINT } from '../logical/type.ts';
import type { DistributeContext } from './context.ts';
import { column, columnsOf, sameExpression } from './expressions.ts';
import { bytesOf, over, type Subplan } from './subplan.ts';
import { project } from './relations.ts';
import { expressionStats, groupCount, rowBytes, unknownStats } from './column-stats.ts';
import type { PartialAggregate } from './partial-aggregate.ts';
import { throughProjection } from './partitioning.ts';
import { aggregateNonDeterminism } from './determinism.ts';
import { isHashable } from './types.ts';
import type { Wanted } from './wanted-keys.ts';

/** The groups that are in every grouping set: rows can be repartitioned by them. */
export function groupsOfAllSets({ groups, sets }: Aggregate): readonly Expression[] {
  return groups.filter((_, at) => sets.every((set) => set.includes(at)));
}

/** Whether it is more than a plain GROUP BY. */
export function hasSets({ groups, sets }: Aggregate): boolean {
  return sets.length > 1 || sets.some((set) => set.length !== groups.length);
}

function groupRows({ groups, rows, sets }: Aggregate, input: Subplan): number {
  if (groups.length === 0) return 1;
  const counted = groupCount(groups, input.columns, input.rows) * Math.max(1, sets.length);
  return Math.min(rows ?? input.rows, counted);
}

/** Runs the aggregate in the tasks where its input is. */
export function applied(aggregate: Aggregate, input: Subplan): Subplan {
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

/**
 * Partial phase: each task aggregates its own rows. Final phase: the partial rows are merged by group. Few groups of several
 * grouping sets are merged from those of the finest set, so that the tasks aggregate their rows once and not for each set.
 */
export function inTwoPhases(
  context: DistributeContext,
  aggregate: Aggregate,
  splits: readonly PartialAggregate[],
  input: Subplan,
  chosen: Wanted,
  reduced: Relation | null = null,
): Subplan {
  const { groups } = aggregate;
  const isTotal = groups.length === 0;
  const finest = finestOf(aggregate, splits, context, input);
  const counted = finest ?? aggregate;
  const first = partialPhase(counted, splits);
  const before = applied(first, input);
  if (reduced !== null) context.draft.pairPartial(reduced, before.relation);
  const rows = partialRows(context, counted, input);
  const partial = { ...before, rows: isTotal ? context.draft.partitions : rows, isOneRow: false };
  const columns = columnsOf(before.relation.output);
  // With several sets, a partial row belongs to a group and a set.
  const setColumn = hasSets(counted) ? columns.slice(groups.length + first.calls.length) : [];
  const keys = [...columns.slice(0, groups.length), ...setColumn];
  const by = chosen?.map((at) => keys[at] as Expression) ?? null;
  const exchanged = exchangeByGroup(context, partial, keys, by);
  const plain = keys.length === 0 ? aggregate.sets : [keys.map((_, at) => at)];
  const last = finest === null ? { ...aggregate, sets: plain, grouping: [] } : aggregate;
  const merged = finalPhase(last, splits, first, keys, exchanged);
  context.draft.pairPartial(before.relation, merged.relation);
  return results(aggregate, splits, keys.length, merged);
}

function partialRows({ draft }: DistributeContext, aggregate: Aggregate, input: Subplan): number {
  return Math.min(groupRows(aggregate, input) * draft.partitions, input.rows);
}

/** The aggregate by all groups, if one of several sets has them all and its partial rows seem to be few. */
function finestOf(
  aggregate: Aggregate,
  splits: readonly PartialAggregate[],
  context: DistributeContext,
  input: Subplan,
): Aggregate | null {
  const { groups, sets } = aggregate;
  if (groups.length === 0 || !sets.some((set) => set.length === groups.length)) return null;
  const finest = { ...aggregate, sets: [groups.map((_, at) => at)], grouping: [] };
  return hasSets(aggregate) && isGathered(context, finest, splits, input) ? finest : null;
}

/** Whether its partial rows seem to be so few that one task merges them. */
export function isGathered(
  context: DistributeContext,
  aggregate: Aggregate,
  splits: readonly PartialAggregate[],
  input: Subplan,
): boolean {
  const { columns } = applied(partialPhase(aggregate, splits), input);
  const bytes = partialRows(context, aggregate, input) * rowBytes(columns);
  return isFew(bytes, context.settings.gatherBytes);
}

/** With 0 nothing is gathered, not even no rows. */
function isFew(bytes: number, atMost: number): boolean {
  return atMost > 0 && bytes <= atMost;
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
  if (keys.length === 0 || isFew(bytesOf(partial), few)) return context.draft.gather(partial);
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
  const { sets, grouping, rows } = aggregate;
  const second: Aggregate = {
    kind: 'aggregate',
    input: exchanged.relation,
    groups: keys,
    sets,
    calls,
    grouping,
    output: [...[...keys, ...calls].map(({ type }) => type), ...grouping.map(() => BIGINT)],
    rows,
  };
  return applied(second, exchanged);
}

export function isPositive(value: Expression): Expression {
  return {
    kind: 'compare',
    comparison: '>',
    left: value,
    right: { kind: 'constant', sql: 'CAST(0 AS BIGINT)', type: BIGINT },
    type: { sql: 'BOOLEAN', id: 'BOOLEAN' },
  };
}

const NO_MARK: Expression = { kind: 'constant', sql: 'CAST(0 AS BIGINT)', type: BIGINT };

/** Restores the columns of the aggregate from those of the final phase. */
export function results(
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
  // The number of the set is followed by the value of each GROUPING, unless the sets were made last; for a plain GROUP BY
  // these are all zero.
  const marks = grouping.map(
    (_, at): Expression =>
      columns[keys > groups.length ? groups.length + 1 + at : offset + at] ?? NO_MARK,
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
