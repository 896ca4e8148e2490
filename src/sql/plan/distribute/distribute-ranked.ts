/**
 * Distributes a filter on a rank, such as `QUALIFY row_number() OVER (PARTITION BY q ORDER BY distance) <= 10`. A row
 * whose rank among the rows of one task is beyond the bound is also beyond it among all rows, so each task drops these
 * before the exchange.
 */
import type { Expression, WindowCall } from '../logical/expression.ts';
import type { Filter, Relation } from '../logical/relation.ts';
import { castTo } from '../logical/type.ts';
import { expressionStats } from './column-stats.ts';
import type { DistributeContext } from './context.ts';
import { windowNonDeterminism } from './determinism.ts';
import { distributeWindow, windowSteps } from './distribute-window.ts';
import { column, columnsOf, moved } from './expressions.ts';
import { isPartitioned, isPartitionedOn } from './partitioning.ts';
import { project } from './relations.ts';
import { applied } from './repartition.ts';
import type { Subplan } from './subplan.ts';

/** A rank among some of the rows is never greater than the rank among all of them. */
const RANKS: ReadonlySet<string> = new Set(['row_number', 'rank', 'dense_rank']);
/** The partial phase pays if it keeps no more than this share of the rows. */
const SHARE_MAX = 0.5;

export interface RankFilter {
  readonly call: WindowCall;
  /** The greatest rank that may pass. */
  readonly bound: number;
}

/** Returns null if the filter does not bound the only rank that its input computes. */
export function rankFilter({ input, conditions }: Filter): RankFilter | null {
  if (input.kind !== 'window') return null;
  const [call, ...others] = input.calls;
  if (call === undefined || others.length > 0 || !isRank(call)) return null;
  const place = input.output.length - 1;
  const bounds = conditions.flatMap((condition) => boundIn(condition, place) ?? []);
  return bounds.length === 0 ? null : { call, bound: Math.min(...bounds) };
}

function isRank({ name, args, distinct, filter, argOrder }: WindowCall): boolean {
  return RANKS.has(name) && args.length + argOrder.length === 0 && !distinct && filter === null;
}

function boundIn(condition: Expression, place: number): number | null {
  if (condition.kind !== 'compare') return null;
  const { left, right, comparison } = condition;
  if (left.kind !== 'column' || left.index !== place || right.kind !== 'constant') return null;
  const value = Number(/\d+/.exec(right.sql)?.[0]);
  if (!Number.isSafeInteger(value) || right.sql !== castTo(String(value), right.type)) return null;
  if (comparison === '<=' || comparison === '=') return value;
  return comparison === '<' ? value - 1 : null;
}

/**
 * Columns that nobody needs after the window are dropped between it and its filter. Returns the same with the filter
 * next to the window; null if there is no such window.
 */
export function belowChoice(filter: Filter): Relation | null {
  const { input: choice, conditions } = filter;
  if (choice.kind !== 'project' || choice.input.kind !== 'window') return null;
  const { expressions, input: window } = choice;
  const places = expressions.flatMap((each) => (each.kind === 'column' ? [each.index] : []));
  if (places.length < expressions.length) return null;
  const moves = conditions.map((each) => moved(each, (index) => places[index] as number));
  const { output } = window;
  const pushed: Filter = { ...filter, input: window, conditions: moves, output };
  return { ...choice, input: pushed, rows: filter.rows };
}

/** Returns the window without its filter, over what the partial phase keeps; null if that would not pay. */
export function distributeRanked(
  context: DistributeContext,
  filter: Filter,
  input: Subplan,
): { readonly partial: Filter; readonly window: Subplan } | null {
  const ranked = rankFilter(filter);
  const window = filter.input;
  if (ranked === null || window.kind !== 'window' || !isPartitioned(input.partitioning))
    return null;
  const { call, bound } = ranked;
  if (isPartitionedOn(input.partitioning, call.partitionBy)) return null;
  const groups = call.partitionBy.reduce(
    (product, key) => product * expressionStats(key, input.columns).distinct,
    1,
  );
  const rows = groups * bound * context.draft.partitions;
  if (!(rows <= input.rows * SHARE_MAX)) return null;
  const { output } = window;
  const partial: Filter = {
    kind: 'filter',
    input: { ...window, input: input.relation },
    conditions: [atMost(output.length - 1, bound, call)],
    output,
    rows,
  };
  const kept = project(partial, columnsOf(input.relation.output));
  const nonDeterministic = windowNonDeterminism(call, input.relation.output);
  const before = applied(kept, input, { rows, nonDeterministic });
  // What is left is too much for one task. In ranges the rank is a sum, which no partial filter is held against.
  if (windowSteps(context, window, before) !== null) return null;
  return { partial, window: distributeWindow(context, window, before) };
}

function atMost(place: number, bound: number, { type }: WindowCall): Expression {
  return {
    kind: 'compare',
    comparison: '<=',
    left: column(place, type),
    right: { kind: 'constant', sql: castTo(String(bound), type), type },
    type: { sql: 'BOOLEAN', id: 'BOOLEAN' },
  };
}
