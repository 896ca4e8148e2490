/** Traverses relations and expressions. */
import { assertNever } from '../../../scheduler/core/index.ts';
import type { AggregateCall, Expression, OrderBy, WindowCall } from './expression.ts';
import type { Relation } from './relation.ts';

/** The inputs of an operator, in order. */
export function inputsOf(relation: Relation): readonly Relation[] {
  switch (relation.kind) {
    case 'scan':
    case 'input':
    case 'values':
    case 'empty':
    case 'ref':
      return [];
    case 'project':
    case 'filter':
    case 'aggregate':
    case 'distinct':
    case 'window':
    case 'sort':
    case 'topN':
    case 'limit':
    case 'unnest':
      return [relation.input];
    case 'join':
    case 'cross':
    case 'asof':
    case 'positional':
      return [relation.left, relation.right];
    case 'set':
      return relation.inputs;
    case 'with':
      return [relation.definition, relation.body];
    default:
      return assertNever(relation);
  }
}

/** The direct children of an expression, in order. */
export function partsOf(expression: Expression): readonly Expression[] {
  switch (expression.kind) {
    case 'column':
    case 'constant':
    case 'param':
      return [];
    case 'call':
      return expression.args;
    case 'lambda':
      return [expression.body];
    case 'cast':
    case 'not':
    case 'isNull':
    case 'isNotNull':
      return [expression.input];
    case 'compare':
      return [expression.left, expression.right];
    case 'and':
    case 'or':
    case 'coalesce':
      return expression.parts;
    case 'in':
      return [expression.input, ...expression.list];
    case 'case':
      return [
        ...expression.branches.flatMap((branch) => [branch.when, branch.result]),
        expression.otherwise,
      ];
    case 'between':
      return [expression.input, expression.low, expression.high];
  }
}

/** Returns the same expression with each child replaced by what `change` returns for it. */
function withParts(expression: Expression, change: (part: Expression) => Expression): Expression {
  switch (expression.kind) {
    case 'column':
    case 'constant':
    case 'param':
      return expression;
    case 'call':
      return { ...expression, args: expression.args.map(change) };
    case 'lambda':
      return { ...expression, body: change(expression.body) };
    case 'cast':
    case 'not':
    case 'isNull':
    case 'isNotNull':
      return { ...expression, input: change(expression.input) };
    case 'compare':
      return { ...expression, left: change(expression.left), right: change(expression.right) };
    case 'and':
    case 'or':
    case 'coalesce':
      return { ...expression, parts: expression.parts.map(change) };
    case 'in':
      return { ...expression, input: change(expression.input), list: expression.list.map(change) };
    case 'case':
      return {
        ...expression,
        branches: expression.branches.map(({ when, result }) => ({
          when: change(when),
          result: change(result),
        })),
        otherwise: change(expression.otherwise),
      };
    case 'between':
      return {
        ...expression,
        input: change(expression.input),
        low: change(expression.low),
        high: change(expression.high),
      };
  }
}

export type ColumnExpression = Extract<Expression, { kind: 'column' }>;

/** Replaces every column. */
export function mapColumns(
  expression: Expression,
  change: (column: ColumnExpression) => Expression,
): Expression {
  if (expression.kind === 'column') return change(expression);
  return withParts(expression, (part) => mapColumns(part, change));
}

/** Returns the same expression with every column index increased by `by`. */
export function shiftColumns(expression: Expression, by: number): Expression {
  if (by === 0) return expression;
  return mapColumns(expression, (column) => ({ ...column, index: column.index + by }));
}

/** The indexes of all columns it refers to. */
export function columnsIn(...expressions: readonly Expression[]): Set<number> {
  const found = new Set<number>();
  const visit = (expression: Expression): void => {
    if (expression.kind === 'column') found.add(expression.index);
    else partsOf(expression).forEach(visit);
  };
  expressions.forEach(visit);
  return found;
}

export function mapOrder(
  order: readonly OrderBy[],
  change: (expression: Expression) => Expression,
): OrderBy[] {
  return order.map((by) => ({ ...by, expression: change(by.expression) }));
}

/** Returns the same call over other arguments, filter and order. */
export function mapAggregate(
  call: AggregateCall,
  change: (expression: Expression) => Expression,
): AggregateCall {
  return {
    ...call,
    args: call.args.map(change),
    filter: call.filter === null ? null : change(call.filter),
    order: mapOrder(call.order, change),
  };
}

/** The same for a window function. */
export function mapWindow(
  call: WindowCall,
  change: (expression: Expression) => Expression,
): WindowCall {
  return {
    ...call,
    args: call.args.map(change),
    partitionBy: call.partitionBy.map(change),
    orderBy: mapOrder(call.orderBy, change),
    frameValues: call.frameValues.map(change),
    filter: call.filter === null ? null : change(call.filter),
    argOrder: mapOrder(call.argOrder, change),
  };
}

export function sameExpression(left: Expression, right: Expression): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}
