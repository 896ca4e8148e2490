/**
 * Whether an operator returns the same rows when it runs again over the same input rows in another order. Each
 * function returns the reason why not, or null.
 */
import type { AggregateCall, Expression, OrderBy, WindowCall } from '../logical/expression.ts';
import type { Aggregate, Relation } from '../logical/relation.ts';
import type { SqlType } from '../logical/type.ts';
import { hasOneRow } from '../logical/unique.ts';
import { isFloat } from './types.ts';

const ORDER_FREE: ReadonlySet<string> = new Set([
  ...['count', 'count_star', 'count_if', 'countif', 'min', 'max', 'sum', 'sum_no_overflow', 'avg'],
  ...['mean', 'bool_and', 'bool_or', 'bit_and', 'bit_or', 'bit_xor', 'median', 'quantile'],
  ...['quantile_disc', 'quantile_cont', 'approx_count_distinct', 'histogram', 'mad'],
]);

/** The last digits of a floating-point sum depend on the order of addition. */
const ADDS_UP: ReadonlySet<string> = new Set(['sum', 'sum_no_overflow', 'avg', 'mean']);

const PEERS_ALIKE: ReadonlySet<string> = new Set([
  'rank',
  'dense_rank',
  'percent_rank',
  'cume_dist',
]);

export function aggregateNonDeterminism({ calls, input }: Aggregate): string | null {
  if (hasOneRow(input)) return null;
  return calls.map(callNonDeterminism).find((each) => each !== null) ?? null;
}

function callNonDeterminism(call: AggregateCall): string | null {
  if (!ORDER_FREE.has(call.name)) {
    const isOrdered = isTotal(call.order, call.args);
    return isOrdered ? null : `${call.name} depends on the order of rows`;
  }
  if (ADDS_UP.has(call.name) && call.args.some(({ type }) => isFloat(type)))
    return `${call.name} of floating-point numbers depends on the order of rows`;
  return null;
}

export function windowNonDeterminism(call: WindowCall, input: readonly SqlType[]): string | null {
  if (PEERS_ALIKE.has(call.name)) return null;
  const partition = call.partitionBy.map((expression) => ({ expression }));
  const isOrdered = isTotal([...partition, ...call.orderBy], columnRefs(input));
  if (isOrdered) return null;
  const asAggregate = callNonDeterminism({ ...call, order: call.argOrder });
  const seesPeers = call.frame === '' || !/\bROWS\b|EXCLUDE/i.test(call.frame);
  if (ORDER_FREE.has(call.name) && seesPeers) return asAggregate;
  return `${call.name} depends on the order of equal rows`;
}

/** The first rows are determined if the order distinguishes any two different rows. */
export function orderNonDeterminism(
  relation: Extract<Relation, { kind: 'topN' | 'limit' | 'distinct' }>,
): string | null {
  const columns = columnRefs(relation.output);
  switch (relation.kind) {
    case 'topN':
      if (relation.limit === 0 || hasOneRow(relation.input)) return null;
      if (isTotal(relation.order, columns)) return null;
      return 'rows that tie may come in any order';
    case 'limit':
      if (relation.limit === 0 || hasOneRow(relation.input)) return null;
      return 'a LIMIT may take any rows';
    case 'distinct': {
      if (relation.on === null) return null;
      const on = relation.on.map((expression) => ({ expression }));
      if (isTotal([...on, ...relation.order], columns)) return null;
      return 'DISTINCT ON may take any of several rows';
    }
    default:
      return relation satisfies never;
  }
}

function isTotal(
  order: readonly Pick<OrderBy, 'expression'>[],
  columns: readonly Expression[],
): boolean {
  const ordered = new Set(
    order.flatMap(({ expression }) => (expression.kind === 'column' ? [expression.index] : [])),
  );
  return columns.every((each) => each.kind === 'column' && ordered.has(each.index));
}

function columnRefs(output: readonly SqlType[]): readonly Expression[] {
  return output.map((type, index) => ({ kind: 'column', index, type }));
}
