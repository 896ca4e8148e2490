/** Aggregates: where the rows are, in two halves, or once all rows of a group have come together. */
import type { AggregateCall, Expression } from '../logical/expression.ts';
import type { Aggregate, Relation } from '../logical/relation.ts';
import { BIGINT } from '../logical/type.ts';
import type { PlaceContext } from './context.ts';
import { column, columnsOf, sameExpression } from './expressions.ts';
import { bytesOf, over, type Part } from './part.ts';
import { together } from './place-rows.ts';
import { project } from './relations.ts';
import { expressionSize, groupCount, unknownSize } from './sizes.ts';
import { splitCall, withoutNeedlessDistinct, type SplitCall } from './split-call.ts';
import { isDivided, isDividedBy, throughColumns, type Spread } from './spread.ts';
import { aggregateInstability } from './stability.ts';
import { isHashable } from './types.ts';

/** GROUPING takes no more columns. */
const GROUPING_MAX = 60;

export function placeAggregate(placing: PlaceContext, given: Aggregate, input: Part): Part {
  const aggregate = { ...given, calls: given.calls.map(withoutNeedlessDistinct) };
  if (!isDivided(input.spread) || isLocal(aggregate, input.spread))
    return applied(aggregate, input);
  const splits = aggregate.calls.map(splitCall);
  const isSplit = splits.every((split) => split !== null);
  const distinct = aggregate.calls.filter((call) => call.distinct);
  if (isSplit && distinct.length === 0 && maySplit(aggregate))
    return inHalves(placing, aggregate, splits, input);
  if (isSplit && !hasSets(aggregate) && oneValue(distinct) !== null)
    return withDistinct(placing, aggregate, oneValue(distinct) as Expression, input);
  return applied(aggregate, together(placing, input, groupsOfAllSets(aggregate)));
}

/** All rows of any group are in one task. */
function isLocal({ groups, sets }: Aggregate, spread: Spread): boolean {
  if (groups.length === 0) return false;
  const each = sets.length === 0 ? [groups.map((_, at) => at)] : sets;
  return each.every((set) =>
    isDividedBy(
      spread,
      set.map((at) => groups[at] as Expression),
    ),
  );
}

/** What every grouping set groups by: rows that are equal in these can come together. */
function groupsOfAllSets({ groups, sets }: Aggregate): readonly Expression[] {
  return groups.filter((_, at) => sets.every((set) => set.includes(at)));
}

/** Not just a plain GROUP BY. */
function hasSets({ groups, sets }: Aggregate): boolean {
  return sets.length > 1 || sets.some((set) => set.length !== groups.length);
}

/** The same set twice gives the same rows twice: nothing in them would tell the two apart. */
function maySplit({ groups, sets }: Aggregate): boolean {
  if (sets.length <= 1) return true;
  const texts = new Set(sets.map((set) => set.toSorted((a, b) => a - b).join()));
  return texts.size === sets.length && groups.length > 0 && groups.length <= GROUPING_MAX;
}

function groupRows({ groups, rows, sets }: Aggregate, input: Part): number {
  if (groups.length === 0) return 1;
  const counted = groupCount(groups, input.columns, input.rows) * Math.max(1, sets.length);
  return Math.min(rows ?? input.rows, counted);
}

/** Runs it over a part as it is. */
function applied(aggregate: Aggregate, input: Part): Part {
  const { groups, calls, sets, grouping } = aggregate;
  const isTotal = groups.length === 0;
  // A set without some group makes it NULL; only what all sets have keeps its value.
  const kept = groupsOfAllSets(aggregate);
  const isPlain = kept.length === groups.length;
  const outputs = groups.map((group): Expression => (kept.includes(group) ? group : NO_VALUE));
  return over([input], {
    relation: { ...aggregate, input: input.relation },
    spread: throughColumns(input.spread, isPlain ? groups : outputs),
    rows: groupRows(aggregate, input),
    columns: [
      ...groups.map((group) => expressionSize(group, input.columns)),
      ...calls.map(({ type }) => unknownSize(type)),
      ...grouping.map(() => unknownSize(BIGINT)),
    ],
    unstable: aggregateInstability({ ...aggregate, input: input.relation }),
    isOneRow: isTotal && sets.length <= 1,
  });
}

const NO_VALUE: Expression = { kind: 'constant', sql: '<none>', type: BIGINT };

/** Each task aggregates its own rows; what comes of that is merged by group. */
function inHalves(
  placing: PlaceContext,
  aggregate: Aggregate,
  splits: readonly SplitCall[],
  input: Part,
  reduced: Relation | null = null,
): Part {
  const { groups } = aggregate;
  const isTotal = groups.length === 0;
  const first = firstHalf(aggregate, splits);
  const before = applied(first, input);
  if (reduced !== null) placing.draft.pair(reduced, before.relation);
  const rows = Math.min(groupRows(aggregate, input) * placing.draft.partitions, input.rows);
  const partial = { ...before, rows: isTotal ? placing.draft.partitions : rows, isOneRow: false };
  const columns = columnsOf(before.relation.output);
  // With several sets a row belongs to its group and its set.
  const setColumn = hasSets(aggregate) ? columns.slice(groups.length + first.calls.length) : [];
  const keys = [...columns.slice(0, groups.length), ...setColumn];
  const met = meetByGroup(placing, partial, keys, isTotal);
  const merged = secondHalf(aggregate, splits, first, keys, met);
  placing.draft.pair(before.relation, merged.relation);
  return results(aggregate, splits, keys.length, merged);
}

/** Few rows come together in one task, where what stands above them goes on at once. */
function meetByGroup(
  placing: PlaceContext,
  partial: Part,
  keys: readonly Expression[],
  isTotal: boolean,
): Part {
  const { gatherBytes } = placing.settings;
  const isFew = gatherBytes > 0 && bytesOf(partial) <= gatherBytes;
  if (isTotal || isFew) return placing.draft.gathered(partial);
  const usable = keys.filter(({ type }) => isHashable(type));
  return usable.length === 0
    ? placing.draft.gathered(partial)
    : placing.draft.hashed(partial, usable);
}

function firstHalf(aggregate: Aggregate, splits: readonly SplitCall[]): Aggregate {
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

function secondHalf(
  aggregate: Aggregate,
  splits: readonly SplitCall[],
  first: Aggregate,
  keys: readonly Expression[],
  met: Part,
): Part {
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
    input: met.relation,
    groups: keys,
    sets: keys.length === 0 ? aggregate.sets : [keys.map((_, at) => at)],
    calls,
    grouping: [],
    output: [...keys, ...calls].map(({ type }) => type),
    rows: aggregate.rows,
  };
  return applied(second, met);
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

/** The columns that the aggregate was to have, from those of the second half. */
function results(
  aggregate: Aggregate,
  splits: readonly SplitCall[],
  keys: number,
  merged: Part,
): Part {
  const { groups, grouping } = aggregate;
  const columns = columnsOf(merged.relation.output);
  let offset = keys;
  const finals = splits.map(({ after, result }) => {
    offset += after.length;
    return result(columns.slice(offset - after.length, offset));
  });
  // After the number of the set come the values of each GROUPING; of a plain GROUP BY they are all zero.
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
    spread: throughColumns(merged.spread, expressions),
    columns: expressions.map((each) => expressionSize(each, merged.columns)),
  };
}

/** The one expression whose distinct values are asked for; null for none or several. */
function oneValue(distinct: readonly AggregateCall[]): Expression | null {
  const [first] = distinct;
  const value = first?.args[0];
  if (value === undefined) return null;
  const areAlike = distinct.every(
    ({ args, filter }) =>
      filter === null && args.length === 1 && sameExpression(args[0] as Expression, value),
  );
  return areAlike ? value : null;
}

/**
 * Duplicates are dropped where they are, before anything travels: grouped by the value as well, with the first half
 * of the other aggregates beside it. Rows of a group then come together; of a total those with the same value, and
 * the counts are added up.
 */
function withDistinct(
  placing: PlaceContext,
  aggregate: Aggregate,
  value: Expression,
  input: Part,
): Part {
  const { groups, calls } = aggregate;
  const isTotal = groups.length === 0;
  if (!isHashable(value.type) && isTotal) return applied(aggregate, placing.draft.gathered(input));
  const others = calls.map((call) => (call.distinct ? null : splitCall(call)));
  const reduced = reduction(aggregate, value, others);
  const before = applied(reduced, input);
  const keys = columnsOf(reduced.output).slice(0, groups.length);
  const valueColumn = column(groups.length, value.type);
  const met = together(placing, before, isTotal ? [valueColumn] : keys);
  const again = overReduced(aggregate, valueColumn, others, keys, met.relation);
  if (!isTotal || !isDivided(met.spread)) {
    const merged = applied(again, met);
    placing.draft.pair(before.relation, merged.relation);
    return finished(aggregate, others, merged);
  }
  // Each value is in one task now, so counting distinct ones there and adding up is exact.
  const splits = again.calls.map(splitCall).filter((split) => split !== null);
  const total = inHalves(placing, again, splits, met, before.relation);
  return finished(aggregate, others, total);
}

function reduction(
  aggregate: Aggregate,
  value: Expression,
  others: readonly (SplitCall | null)[],
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

/** The aggregate over what the reduction has made: distinct values as they are, the others merged. */
function overReduced(
  aggregate: Aggregate,
  value: Expression,
  others: readonly (SplitCall | null)[],
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

function finished(aggregate: Aggregate, others: readonly (SplitCall | null)[], merged: Part): Part {
  const asIs: SplitCall = {
    before: [],
    after: [{ name: '', args: [], where: null, type: BIGINT }],
    result: ([made]) => made as Expression,
  };
  const splits = others.map((split) => split ?? asIs);
  return results(aggregate, splits, aggregate.groups.length, merged);
}
