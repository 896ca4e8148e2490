/** Rewriting expressions for other columns, and comparing them. */
import { assertNever } from '../../../scheduler/core/index.ts';
import type { AggregateCall, Expression, OrderBy, WindowCall } from '../logical/expression.ts';
import type { SqlType } from '../logical/type.ts';
import { mapAggregate, mapColumns, mapOrder, mapWindow, partsOf } from '../logical/walk.ts';

export function column(index: number, type: SqlType): Expression {
  return { kind: 'column', index, type };
}

/** References to all columns of a relation, in order. */
export function columnsOf(output: readonly SqlType[]): readonly Expression[] {
  return output.map((type, index) => column(index, type));
}

export function collectColumns(expression: Expression, into: Set<number>): void {
  if (expression.kind === 'column') into.add(expression.index);
  else for (const part of partsOf(expression)) collectColumns(part, into);
}

/** From the index of a column in the old input to its index in the new one. */
export type ColumnMapping = (index: number) => number;

export function moved(expression: Expression, places: ColumnMapping): Expression {
  return mapColumns(expression, ({ index, type }) => column(places(index), type));
}

export function movedOrder(order: readonly OrderBy[], places: ColumnMapping): readonly OrderBy[] {
  return mapOrder(order, (each) => moved(each, places));
}

export function movedAggregate(call: AggregateCall, places: ColumnMapping): AggregateCall {
  return mapAggregate(call, (each) => moved(each, places));
}

export function movedWindow(call: WindowCall, places: ColumnMapping): WindowCall {
  return mapWindow(call, (each) => moved(each, places));
}

export function aggregateParts(call: AggregateCall): readonly Expression[] {
  const filter = call.filter === null ? [] : [call.filter];
  return [...call.args, ...filter, ...call.order.map(({ expression }) => expression)];
}

export function windowParts(call: WindowCall): readonly Expression[] {
  return [
    ...call.args,
    ...call.partitionBy,
    ...call.orderBy.map(({ expression }) => expression),
    ...call.frameValues,
    ...(call.filter === null ? [] : [call.filter]),
    ...call.argOrder.map(({ expression }) => expression),
  ];
}

/** A key that is equal for equal expressions. */
export function expressionKey(expression: Expression): string {
  const own = ownKey(expression);
  const parts = partsOf(expression);
  if (parts.length === 0) return own;
  return `${own}(${parts.map(expressionKey).join(',')})`;
}

function ownKey(expression: Expression): string {
  const { kind, type } = expression;
  switch (kind) {
    case 'column':
      return `#${expression.index}:${type.sql}`;
    case 'constant':
      return `'${expression.sql}':${type.sql}`;
    case 'call':
      return `${JSON.stringify([expression.name, expression.names ?? []])}:${type.sql}`;
    case 'lambda':
      return `lambda ${expression.params.join(' ')}`;
    case 'param':
      return `param ${expression.param}`;
    case 'cast':
      return `cast${expression.isTry ? '?' : ''}:${type.sql}`;
    case 'compare':
      return `compare ${expression.comparison}`;
    case 'in':
      return `in${expression.negated ? '!' : ''}`;
    case 'between':
      return `between${expression.includesLow ? '=' : ''},${expression.includesHigh ? '=' : ''}`;
    case 'and':
    case 'or':
    case 'not':
    case 'isNull':
    case 'isNotNull':
    case 'coalesce':
    case 'case':
      return `${kind}:${type.sql}`;
    default:
      return assertNever(kind);
  }
}

export function sameExpression(left: Expression, right: Expression): boolean {
  return left === right || expressionKey(left) === expressionKey(right);
}

const SAFE: ReadonlySet<Expression['kind']> = new Set<Expression['kind']>([
  ...(['column', 'constant', 'compare', 'and', 'or', 'not'] as const),
  ...(['isNull', 'isNotNull', 'in', 'between'] as const),
]);

/** Whether it has a value for every row, also for those that the query leaves out. */
export function cannotFail(expression: Expression): boolean {
  return SAFE.has(expression.kind) && partsOf(expression).every(cannotFail);
}
