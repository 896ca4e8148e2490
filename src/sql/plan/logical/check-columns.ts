/**
 * Proves that every column a plan refers to exists and has the expected type. Without it, a plan whose columns DuckDB
 * counts differently would return wrong rows without an error.
 */
import type { AggregateCall, Expression, OrderBy, WindowCall } from './expression.ts';
import type { Relation } from './relation.ts';
import type { SqlType } from './type.ts';
import { unknownPlan } from './undistributable.ts';
import { inputsOf, partsOf } from './walk.ts';

export function checkColumns(relation: Relation): void {
  for (const { expressions, columns } of uses(relation)) {
    for (const expression of expressions) checkExpression(expression, columns);
  }
  for (const input of inputsOf(relation)) checkColumns(input);
}

function checkExpression(expression: Expression, columns: readonly SqlType[]): void {
  if (expression.kind === 'column') {
    if (columns[expression.index]?.id !== expression.type.id) {
      throw unknownPlan(`it speaks of column ${expression.index}, which is not there`);
    }
    return;
  }
  for (const part of partsOf(expression)) checkExpression(part, columns);
}

interface Use {
  readonly expressions: readonly Expression[];
  /** The expressions that refer to columns. */
  readonly columns: readonly SqlType[];
}

function uses(relation: Relation): readonly Use[] {
  switch (relation.kind) {
    case 'scan': {
      const columns = relation.columns.map((column) => relation.types[column ?? -1] ?? NOTHING);
      return [{ expressions: relation.filters, columns }];
    }
    case 'project':
    case 'unnest':
      return [over(relation.input, relation.expressions)];
    case 'filter':
      return [over(relation.input, relation.conditions)];
    case 'aggregate':
      return [over(relation.input, [...relation.groups, ...relation.calls.flatMap(ofAggregate)])];
    case 'window':
      return [over(relation.input, relation.calls.flatMap(ofWindow))];
    case 'distinct':
      return [over(relation.input, [...(relation.on ?? []), ...ofOrder(relation.order)])];
    case 'sort':
    case 'topN':
      return [over(relation.input, ofOrder(relation.order))];
    case 'join':
    case 'asof': {
      const { left, right, conditions } = relation;
      const predicate = relation.kind === 'join' ? relation.predicate : null;
      return [
        over(
          left,
          conditions.map((condition) => condition.left),
        ),
        over(
          right,
          conditions.map((condition) => condition.right),
        ),
        {
          expressions: predicate === null ? [] : [predicate],
          columns: [...left.output, ...right.output],
        },
      ];
    }
    case 'values':
      return [{ expressions: relation.lists.flat(), columns: [] }];
    case 'input':
    case 'empty':
    case 'cross':
    case 'positional':
    case 'set':
    case 'limit':
    case 'with':
    case 'ref':
      return [];
  }
}

/** A column without data has no filter. */
const NOTHING: SqlType = { sql: '', id: '' };

function over(input: Relation, expressions: readonly Expression[]): Use {
  return { expressions, columns: input.output };
}

function ofOrder(order: readonly OrderBy[]): Expression[] {
  return order.map(({ expression }) => expression);
}

function ofAggregate(call: AggregateCall): Expression[] {
  return [...call.args, ...ofOrder(call.order), ...(call.filter === null ? [] : [call.filter])];
}

function ofWindow(call: WindowCall): Expression[] {
  return [
    ...ofAggregate({ ...call, order: call.argOrder }),
    ...call.partitionBy,
    ...ofOrder(call.orderBy),
    ...call.frameValues,
  ];
}
