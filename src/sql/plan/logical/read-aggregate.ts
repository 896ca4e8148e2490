/**
 * Reads aggregates, in GROUP BY and as windows. DuckDB removes the constant arguments of some aggregates; they are
 * put back so that the call can be written again.
 */
import type { AggregateCall, Expression, OrderBy } from './expression.ts';
import { incomplete } from './read-call.ts';
import type { ReadContext } from './read-context.ts';
import { readExpression, readOrder } from './read-expression.ts';
import { readLiteral, stringText } from './literal.ts';
import type { PlanNode } from './plan-node.ts';
import { readType } from './read-type.ts';
import type { Aggregate } from './relation.ts';
import { castTo, listType, plainType, sameType, VARCHAR } from './type.ts';
import { sameExpression } from './walk.ts';
import { Undistributable } from './undistributable.ts';

export interface BoundAggregate {
  readonly name: string;
  readonly args: readonly Expression[];
  /** The order within the function itself, only for quantiles that count from the end. */
  readonly order: readonly OrderBy[];
}

export function readAggregate(node: PlanNode, context: ReadContext): AggregateCall {
  const kind = node.at('aggregate_type').text();
  if (kind !== 'DISTINCT' && kind !== 'NON_DISTINCT') throw node.odd('kind of aggregate');
  const bound = readBoundAggregate(node, context);
  const filter = node.at('filter');
  const orders = node.at('order_bys');
  const order = orders.isThere ? readOrder(orders.at('orders').list(), context) : [];
  return {
    name: bound.name,
    args: bound.args,
    distinct: kind === 'DISTINCT',
    filter: filter.isThere ? readExpression(filter, context) : null,
    order: order.length > 0 ? order : bound.order,
    type: readType(node.at('return_type')),
  };
}

/**
 * Grouping sets over two columns that a join makes equal: DuckDB's optimizer uses one column for both groups and
 * distinguishes the groups by position. SQL distinguishes them by name, so each gets a column of its own.
 */
export function distinctGroups(aggregate: Aggregate): Aggregate {
  const { input, groups, sets } = aggregate;
  if (sets.length <= 1 || !hasRepeatedGroups(groups)) return aggregate;
  const columns = input.output.map((type, index): Expression => ({ kind: 'column', index, type }));
  const expressions = [...columns, ...groups];
  const output = expressions.map(({ type }) => type);
  return {
    ...aggregate,
    input: { kind: 'project', input, expressions, output, rows: input.rows },
    groups: groups.map(({ type }, at) => ({ kind: 'column', index: columns.length + at, type })),
  };
}

/** Whether two groups are the same expression, so that SQL could not put only one of them into a grouping set. */
export function hasRepeatedGroups(groups: readonly Expression[]): boolean {
  return groups.some((group, at) => groups.slice(at + 1).some((one) => sameExpression(one, group)));
}

/** What an aggregate and a windowed aggregate have in common. */
export function readBoundAggregate(node: PlanNode, context: ReadContext): BoundAggregate {
  const name = node.at('name').text();
  const args = node
    .at('children')
    .list()
    .map((child) => readExpression(child, context));
  const isCut = node.at('original_arguments').list().length > 0;
  const data = node.at('function_data');
  switch (name) {
    case 'count_star':
      return { name: 'count', args: [], order: [] };
    // DuckDB's replacement for a sum that cannot overflow.
    case 'sum_no_overflow':
      return { name: 'sum', args, order: [] };
    case 'string_agg':
    case 'group_concat':
    case 'listagg': {
      const separator: Expression = {
        kind: 'constant',
        sql: stringText(data.at('separator').text()),
        type: VARCHAR,
      };
      return { name, args: [...args, separator], order: [] };
    }
    case 'quantile_cont':
    case 'quantile_disc':
    case 'quantile':
      return readQuantile(node, name, args);
    case 'approx_quantile':
      return readApproximate(node, name, args);
    case 'reservoir_quantile':
      throw new Undistributable(`it calls ${name}(), which samples at random`);
    // Its length comes from the statistics of its column, which are different behind an exchange.
    case 'bitstring_agg':
      throw incomplete(name);
    default:
      if (isCut) throw incomplete(name);
      return { name, args, order: [] };
  }
}

function readQuantile(node: PlanNode, name: string, args: readonly Expression[]): BoundAggregate {
  const data = node.at('function_data');
  const [input] = args;
  if (input === undefined || args.length !== 1) throw incomplete(name);
  const quantiles = data
    .at('quantiles')
    .list()
    .map((value) => {
      const type = readType(value.at('type'));
      return { sql: readLiteral(value, type), type };
    });
  const order = data.at('desc').bool()
    ? [{ expression: input, descending: true, nullsFirst: false }]
    : [];
  return { name, args: [input, manyOrOne(node, input, quantiles)], order };
}

function readApproximate(
  node: PlanNode,
  name: string,
  args: readonly Expression[],
): BoundAggregate {
  const [input] = args;
  if (input === undefined || args.length !== 1) throw incomplete(name);
  const type = plainType('FLOAT');
  const quantiles = node
    .at('function_data')
    .at('quantiles')
    .list()
    .map((value) => ({ sql: castTo(`'${value.number()}'`, type), type }));
  return { name, args: [input, manyOrOne(node, input, quantiles)], order: [] };
}

/** A list of quantiles returns a list of values. */
function manyOrOne(
  node: PlanNode,
  input: Expression,
  quantiles: readonly Pick<Extract<Expression, { kind: 'constant' }>, 'sql' | 'type'>[],
): Expression {
  const [first, ...rest] = quantiles;
  if (first === undefined) throw node.odd('quantile');
  const result = readType(node.at('return_type'));
  if (result.id !== 'LIST' || sameType(input.type, result)) {
    if (rest.length > 0) throw node.odd('single quantile');
    return { kind: 'constant', ...first };
  }
  return {
    kind: 'constant',
    sql: `[${quantiles.map(({ sql }) => sql).join(', ')}]`,
    type: listType(first.type),
  };
}
