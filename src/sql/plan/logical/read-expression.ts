/** Reads expressions from the JSON of a plan. */
import type { Expression, OrderBy } from './expression.ts';
import { readCall } from './read-call.ts';
import { readLiteral } from './literal.ts';
import type { PlanNode } from './plan-node.ts';
import type { ReadContext } from './read-context.ts';
import { readType } from './read-type.ts';
import type { Comparison } from './relation.ts';
import { BOOLEAN } from './type.ts';
import { unknownPlan } from './undistributable.ts';

export function readExpression(node: PlanNode, context: ReadContext): Expression {
  const read = (part: PlanNode): Expression => readExpression(part, context);
  const kind = node.at('expression_class').text();
  switch (kind) {
    case 'BOUND_REF':
      return readReference(node, context);
    case 'BOUND_COLUMN_REF':
      return readColumn(node, context);
    case 'BOUND_CONSTANT': {
      const type = readType(node.at('value').at('type'));
      return { kind: 'constant', sql: readLiteral(node.at('value'), type), type };
    }
    case 'BOUND_FUNCTION':
      return readCall(node, context, readExpression);
    case 'BOUND_CAST':
      return {
        kind: 'cast',
        input: read(node.at('child')),
        isTry: node.at('try_cast').bool(),
        type: readType(node.at('return_type')),
      };
    case 'BOUND_COMPARISON':
      return {
        kind: 'compare',
        comparison: readComparison(node.at('type')),
        left: read(node.at('left')),
        right: read(node.at('right')),
        type: BOOLEAN,
      };
    case 'BOUND_CONJUNCTION':
      return {
        kind: readConjunction(node.at('type')),
        parts: node.at('children').list().map(read),
        type: BOOLEAN,
      };
    case 'BOUND_OPERATOR':
      return readOperator(node, read);
    case 'BOUND_CASE':
      return {
        kind: 'case',
        branches: node
          .at('case_checks')
          .list()
          .map((check) => ({
            when: read(check.at('when_expr')),
            result: read(check.at('then_expr')),
          })),
        otherwise: read(node.at('else_expr')),
        type: readType(node.at('return_type')),
      };
    case 'BOUND_BETWEEN':
      return {
        kind: 'between',
        input: read(node.at('input')),
        low: read(node.at('lower')),
        high: read(node.at('upper')),
        includesLow: node.at('lower_inclusive').bool(),
        includesHigh: node.at('upper_inclusive').bool(),
        type: BOOLEAN,
      };
    default:
      throw unknownPlan(`it has an expression of the kind ${kind}`);
  }
}

function readReference(node: PlanNode, context: ReadContext): Expression {
  const index = node.at('index').index();
  if (context.places === null) {
    return { kind: 'column', index, type: readType(node.at('return_type')) };
  }
  const place = context.places[index];
  if (place === undefined) throw node.odd('place in its lambda');
  return place;
}

/** A column that has no position yet. */
function readColumn(node: PlanNode, { table }: ReadContext): Expression {
  const binding = node.at('binding');
  const isBelow = node.at('depth').index() > 0 || binding.at('table_index').index() !== table;
  if (isBelow) throw unknownPlan('it has an expression of the kind BOUND_COLUMN_REF');
  const index = binding.at('column_index').index();
  return { kind: 'column', index, type: readType(node.at('return_type')) };
}

const COMPARISONS: Readonly<Record<string, Comparison>> = {
  COMPARE_EQUAL: '=',
  COMPARE_NOTEQUAL: '<>',
  COMPARE_LESSTHAN: '<',
  COMPARE_LESSTHANOREQUALTO: '<=',
  COMPARE_GREATERTHAN: '>',
  COMPARE_GREATERTHANOREQUALTO: '>=',
  COMPARE_DISTINCT_FROM: 'IS DISTINCT FROM',
  COMPARE_NOT_DISTINCT_FROM: 'IS NOT DISTINCT FROM',
};

export function readComparison(node: PlanNode): Comparison {
  const comparison = COMPARISONS[node.text()];
  if (comparison === undefined) throw node.odd('comparison that is known');
  return comparison;
}

function readConjunction(node: PlanNode): 'and' | 'or' {
  const kind = node.text();
  if (kind === 'CONJUNCTION_AND') return 'and';
  if (kind === 'CONJUNCTION_OR') return 'or';
  throw node.odd('conjunction');
}

function readOperator(node: PlanNode, read: (part: PlanNode) => Expression): Expression {
  const name = node.at('type').text();
  const [input, ...list] = node.at('children').list().map(read);
  const type = readType(node.at('return_type'));
  if (input === undefined) throw node.odd('operand');
  const alone = (): Expression => {
    if (list.length > 0) throw node.odd('single operand');
    return input;
  };
  switch (name) {
    case 'OPERATOR_NOT':
      return { kind: 'not', input: alone(), type };
    case 'OPERATOR_IS_NULL':
      return { kind: 'isNull', input: alone(), type };
    case 'OPERATOR_IS_NOT_NULL':
      return { kind: 'isNotNull', input: alone(), type };
    case 'COMPARE_IN':
    case 'COMPARE_NOT_IN':
      return { kind: 'in', negated: name === 'COMPARE_NOT_IN', input, list, type };
    case 'OPERATOR_COALESCE':
      return { kind: 'coalesce', parts: [input, ...list], type };
    case 'OPERATOR_TRY':
      return { kind: 'call', name: 'try', args: [alone()], type };
    default:
      throw unknownPlan(`it has the operator ${name}`);
  }
}

export function readOrder(nodes: readonly PlanNode[], context: ReadContext): OrderBy[] {
  return nodes.map((node) => ({
    expression: readExpression(node.at('expression'), context),
    descending: oneOf(node.at('type'), 'DESCENDING', 'ASCENDING'),
    nullsFirst: oneOf(node.at('null_order'), 'NULLS FIRST', 'NULLS LAST'),
  }));
}

/** Whether it is the first of two words. */
function oneOf(node: PlanNode, yes: string, no: string): boolean {
  const word = node.text();
  if (word !== yes && word !== no) throw node.odd(`${yes} or ${no}`);
  return word === yes;
}
