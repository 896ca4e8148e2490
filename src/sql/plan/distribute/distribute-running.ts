/**
 * Distributes windows over all rows in an order, such as `row_number() OVER (ORDER BY at)`. Rows are range-partitioned by
 * bounds from a sample, as for a sort, and carry the number of their range. One stage computes a row for each range, one task
 * adds up what is before each, and the last stage computes the window within each range and adds that.
 */
import type { AggregateCall, Expression, WindowCall } from '../logical/expression.ts';
import type { Aggregate, Join, Window } from '../logical/relation.ts';
import { BIGINT, INTEGER } from '../logical/type.ts';
import { unknownStats } from './column-stats.ts';
import type { DistributeContext } from './context.ts';
import { windowNonDeterminism } from './determinism.ts';
import { distributeAggregate } from './distribute-aggregate.ts';
import { distributeJoin } from './distribute-join.ts';
import { inRanges, readTwice } from './distribute-sort.ts';
import { column, columnsOf } from './expressions.ts';
import { project } from './relations.ts';
import { applied } from './repartition.ts';
import { runningPart, type Merge, type RunningPart } from './running-window.ts';
import type { Subplan } from './subplan.ts';

/** Of a window whose calls all have the same order and a running form. */
export function distributeRunning(
  context: DistributeContext,
  { calls }: Window,
  input: Subplan,
): Subplan {
  const order = (calls[0]?.orderBy ?? []).filter(
    ({ expression }) => expression.kind !== 'constant',
  );
  const parts = calls.flatMap((call) => runningPart(call) ?? []);
  const source = readTwice(context, input);
  const width = source.relation.output.length;
  const ranged = inRanges(context, source, order);
  const number = column(width, INTEGER);
  const sums = sumsOfRanges(context, ranged, number, parts);
  const local = withWindow(
    ranged,
    parts.flatMap((part) => part.local).map((call) => ({ ...call, partitionBy: [number] })),
  );
  const output = [...local.relation.output, ...sums.relation.output];
  const at = local.relation.output.length;
  const join: Join = {
    ...{ kind: 'join', type: 'inner', left: local.relation, right: sums.relation, output },
    conditions: [{ left: number, right: column(0, INTEGER), comparison: '=' }],
    ...{ predicate: null, errorOnMany: false, rows: Math.round(source.rows) },
  };
  const joined = distributeJoin(context, join, local, sums);
  const results = resultsOf(parts, columnsOf(output), width + 1, at + 1);
  const own = columnsOf(source.relation.output);
  const columns = [...source.columns, ...results.map(({ type }) => unknownStats(type))];
  return applied(project(joined.relation, [...own, ...results]), joined, { columns });
}

/** A row for each range, in every task: its number, then for each part what is before it and what is in all. */
function sumsOfRanges(
  context: DistributeContext,
  ranged: Subplan,
  number: Expression,
  parts: readonly RunningPart[],
): Subplan {
  const calls: readonly AggregateCall[] = parts.flatMap(({ range }) => range);
  const aggregate: Aggregate = {
    ...{ kind: 'aggregate', input: ranged.relation, groups: [number], sets: [[0]], grouping: [] },
    ...{ calls, output: [INTEGER, ...calls.map(({ type }) => type)] },
    rows: context.draft.partitions,
  };
  const ranges = context.draft.gather(distributeAggregate(context, aggregate, ranged));
  let from = 1;
  const merges = parts.flatMap(({ range, before, all }) => {
    const args = ({ of }: Merge): readonly Expression[] => [
      column(from + of, (range[of] as AggregateCall).type),
    ];
    const made = [
      ...before.map((merge) => merged(merge, args(merge), true)),
      ...all.map((merge) => merged(merge, args(merge), false)),
    ];
    from += range.length;
    return made;
  });
  const window = withWindow(ranges, merges);
  const kept = columnsOf(window.relation.output).filter((_, at) => at === 0 || at >= from);
  const columns = kept.map(({ type }) => unknownStats(type));
  return context.draft.broadcast(applied(project(window.relation, kept), window, { columns }));
}

const ONE: Expression = { kind: 'constant', sql: 'CAST(1 AS BIGINT)', type: BIGINT };

/** Over the ranges in the order of their numbers: of those before, or of all. */
function merged({ name, type }: Merge, args: readonly Expression[], isBefore: boolean): WindowCall {
  const expression = column(0, INTEGER);
  return {
    ...{ name, args, type, partitionBy: [], ignoreNulls: false, distinct: false, filter: null },
    argOrder: [],
    ...(isBefore
      ? {
          orderBy: [{ expression, descending: false, nullsFirst: false }],
          frame: 'ROWS BETWEEN UNBOUNDED PRECEDING AND {0} PRECEDING',
          frameValues: [ONE],
        }
      : { orderBy: [], frame: '', frameValues: [] }),
  };
}

/** Computes a window in the tasks where its input is. */
export function withWindow(input: Subplan, calls: readonly WindowCall[]): Subplan {
  const { output, rows } = input.relation;
  const types = calls.map(({ type }) => type);
  const reasons = calls.map((call) => windowNonDeterminism(call, output));
  const window: Window = {
    ...{ kind: 'window', input: input.relation, calls, output: [...output, ...types], rows },
  };
  return applied(window, input, {
    columns: [...input.columns, ...types.map(unknownStats)],
    nonDeterministic: reasons.find((each) => each !== null) ?? null,
  });
}

/** `local` and `sums` are where the columns of the first part begin. */
function resultsOf(
  parts: readonly RunningPart[],
  columns: readonly Expression[],
  local: number,
  sums: number,
): readonly Expression[] {
  let [nextLocal, nextSum] = [local, sums];
  const take = (from: number, count: number): readonly Expression[] =>
    columns.slice(from, from + count);
  return parts.map((part) => {
    const own = take(nextLocal, part.local.length);
    const before = take(nextSum, part.before.length);
    const all = take(nextSum + part.before.length, part.all.length);
    nextLocal += part.local.length;
    nextSum += part.before.length + part.all.length;
    return part.result({ local: own, before, all });
  });
}
