/** Distributes aggregates over all rows that stand beside each row, as in `amount / sum(amount) OVER ()`: the row of totals is
 * computed in two phases and sent to all tasks. */
import type { AggregateCall, WindowCall } from '../logical/expression.ts';
import type { Aggregate, Cross, Window } from '../logical/relation.ts';
import type { DistributeContext } from './context.ts';
import { distributeAggregate } from './distribute-aggregate.ts';
import { distributeCross } from './distribute-join.ts';
import { readTwice } from './distribute-sort.ts';
import { partialAggregate } from './partial-aggregate.ts';
import type { Subplan } from './subplan.ts';

const ALL_ROWS = /^(ROWS|RANGE|GROUPS) BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING$/;

/** The same as an aggregate; null if its value depends on the row, or has no form in two phases. */
export function totalOf(call: WindowCall): AggregateCall | null {
  const { name, args, distinct, filter, type, orderBy, argOrder, frame, ignoreNulls } = call;
  const isAll = ALL_ROWS.test(frame) || (frame === '' && orderBy.length === 0);
  if (call.partitionBy.length > 0 || argOrder.length > 0 || ignoreNulls || !isAll) return null;
  const aggregate: AggregateCall = { name, args, distinct, filter, order: [], type };
  // What depends on the order of rows would lose that of the window.
  return partialAggregate(aggregate) === null || TAKES_ANY.has(name) ? null : aggregate;
}

const TAKES_ANY: ReadonlySet<string> = new Set(['first', 'last', 'any_value', 'arbitrary']);

/** Of a window whose calls are all totals. */
export function distributeTotals(
  context: DistributeContext,
  { calls }: Window,
  input: Subplan,
): Subplan {
  const source = readTwice(context, input);
  const totals = calls.flatMap((call) => totalOf(call) ?? []);
  const aggregate: Aggregate = {
    ...{ kind: 'aggregate', input: source.relation, groups: [], sets: [[]], grouping: [], rows: 1 },
    calls: totals,
    output: totals.map(({ type }) => type),
  };
  const one = context.draft.broadcast(distributeAggregate(context, aggregate, source));
  const cross: Cross = {
    ...{ kind: 'cross', left: source.relation, right: one.relation, rows: Math.round(source.rows) },
    output: [...source.relation.output, ...one.relation.output],
  };
  return distributeCross(context, cross, source, one);
}
