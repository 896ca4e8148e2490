/** Reads joins of all kinds. Their inputs have been read already. */
import type { Expression } from './expression.ts';
import type { PlanNode } from './plan-node.ts';
import type { ReadContext } from './read-context.ts';
import { readComparison, readExpression } from './read-expression.ts';
import type { Comparison, Join, JoinCondition, JoinType, Relation } from './relation.ts';
import { BOOLEAN, type SqlType } from './type.ts';
import { isUniqueBy } from './unique.ts';
import { columnsIn, shiftColumns } from './walk.ts';
import { Undistributable, unknownPlan } from './undistributable.ts';

export interface JoinParts {
  readonly left: Relation;
  readonly right: Relation;
  readonly context: ReadContext;
  readonly rows: number | null;
}

export function readJoin(node: PlanNode, parts: JoinParts): Relation {
  const { left, right, rows } = parts;
  const both = [...left.output, ...right.output];
  switch (node.at('type').text()) {
    case 'LOGICAL_CROSS_PRODUCT':
      return { kind: 'cross', left, right, output: both, rows };
    case 'LOGICAL_POSITIONAL_JOIN':
      return { kind: 'positional', left, right, output: both, rows };
    case 'LOGICAL_ASOF_JOIN':
      return readAsOf(node, parts);
    case 'LOGICAL_ANY_JOIN': {
      const condition = readExpression(node.at('condition'), parts.context);
      return joinOf(node, parts, [], condition);
    }
    default: {
      const predicate = node.at('predicate');
      return joinOf(
        node,
        parts,
        readConditions(node, parts.context),
        predicate.isThere ? readExpression(predicate, parts.context) : null,
      );
    }
  }
}

const TYPES: Readonly<Record<string, JoinType>> = {
  INNER: 'inner',
  LEFT: 'left',
  RIGHT: 'right',
  OUTER: 'full',
  FULL: 'full',
  SEMI: 'semi',
  ANTI: 'anti',
  MARK: 'mark',
  SINGLE: 'single',
};

function joinOf(
  node: PlanNode,
  { left, right, rows }: JoinParts,
  conditions: readonly JoinCondition[],
  predicate: Expression | null,
): Join {
  expectAllColumns(node);
  const kind = node.at('join_type').text();
  const isTurned = kind === 'RIGHT_SEMI' || kind === 'RIGHT_ANTI';
  const type = TYPES[isTurned ? kind.slice('RIGHT_'.length) : kind];
  if (type === undefined) throw unknownPlan(`it has a join of the kind ${kind}`);
  const split = splitPredicate(type, left.output.length, conditions, predicate);
  const plain: Join = {
    kind: 'join',
    type: isLeft(type, split, right) ? 'left' : type,
    left,
    right,
    ...split,
    errorOnMany: type === 'single',
    output: outputOf(type, left.output, right.output),
    rows,
  };
  return isTurned ? turned(plain) : plain;
}

function outputOf(
  type: JoinType,
  left: readonly SqlType[],
  right: readonly SqlType[],
): readonly SqlType[] {
  switch (type) {
    case 'semi':
    case 'anti':
      return left;
    case 'mark':
      return [...left, BOOLEAN];
    case 'inner':
    case 'left':
    case 'right':
    case 'full':
    case 'single':
      return [...left, ...right];
  }
}

/** Most scalar subqueries group by their join keys, so there is never a second match. */
function isLeft(type: JoinType, split: Pick<Join, 'conditions'>, right: Relation): boolean {
  if (type !== 'single') return false;
  const keys = split.conditions.flatMap(({ comparison, right: key }) =>
    (comparison === '=' || comparison === 'IS NOT DISTINCT FROM') && key.kind === 'column'
      ? [key.index]
      : [],
  );
  return isUniqueBy(right, new Set(keys));
}

/**
 * Extracts from an arbitrary condition the parts that compare one side with the other. A mark may be NULL, so its
 * condition stays in one piece.
 */
function splitPredicate(
  type: JoinType,
  leftColumns: number,
  conditions: readonly JoinCondition[],
  predicate: Expression | null,
): Pick<Join, 'conditions' | 'predicate'> {
  if (predicate === null || type === 'mark') return { conditions, predicate };
  const found = [...conditions];
  const rest: Expression[] = [];
  for (const part of conjuncts(predicate)) {
    const condition = asCondition(part, leftColumns);
    if (condition === null) rest.push(part);
    else found.push(condition);
  }
  const [first] = rest;
  if (first === undefined) return { conditions: found, predicate: null };
  const left = rest.length === 1 ? first : ({ kind: 'and', parts: rest, type: BOOLEAN } as const);
  return { conditions: found, predicate: left };
}

function conjuncts(expression: Expression): readonly Expression[] {
  return expression.kind === 'and' ? expression.parts.flatMap(conjuncts) : [expression];
}

function asCondition(part: Expression, leftColumns: number): JoinCondition | null {
  if (part.kind !== 'compare') return null;
  const sideOf = (expression: Expression): 'left' | 'right' | null => {
    const columns = [...columnsIn(expression)];
    if (columns.length === 0) return null;
    if (columns.every((column) => column < leftColumns)) return 'left';
    return columns.every((column) => column >= leftColumns) ? 'right' : null;
  };
  const sides = `${sideOf(part.left)} ${sideOf(part.right)}`;
  const right = (expression: Expression): Expression => shiftColumns(expression, -leftColumns);
  if (sides === 'left right') {
    return { left: part.left, right: right(part.right), comparison: part.comparison };
  }
  if (sides === 'right left') {
    return { left: part.right, right: right(part.left), comparison: mirrored(part.comparison) };
  }
  return null;
}

export function mirrored(comparison: Comparison): Comparison {
  switch (comparison) {
    case '<':
      return '>';
    case '<=':
      return '>=';
    case '>':
      return '<';
    case '>=':
      return '<=';
    case '=':
    case '<>':
    case 'IS NOT DISTINCT FROM':
    case 'IS DISTINCT FROM':
      return comparison;
  }
}

/** The same join with its sides swapped, for joins that return the right side. */
function turned(join: Join): Join {
  const { left, right, predicate } = join;
  if (predicate !== null)
    throw new Undistributable('it has a SEMI or ANTI join with an unsupported condition');
  return {
    ...join,
    left: right,
    right: left,
    conditions: join.conditions.map((condition) => ({
      left: condition.right,
      right: condition.left,
      comparison: mirrored(condition.comparison),
    })),
    output: right.output,
  };
}

function readAsOf(node: PlanNode, { left, right, context, rows }: JoinParts): Relation {
  expectAllColumns(node);
  const type = TYPES[node.at('join_type').text()];
  const isKnown = type === 'inner' || type === 'left' || type === 'right' || type === 'full';
  if (!isKnown || node.at('predicate').isThere) {
    throw new Undistributable('it has an ASOF join of an unsupported kind');
  }
  const conditions = readConditions(node, context);
  const isRange = ({ comparison }: JoinCondition): boolean =>
    ['<', '<=', '>', '>='].includes(comparison);
  const ranges = conditions.filter(isRange);
  const equalities = conditions.filter(({ comparison }) => comparison === '=');
  if (ranges.length !== 1 || equalities.length + 1 !== conditions.length) {
    throw new Undistributable('it has an ASOF join of an unsupported kind');
  }
  return {
    kind: 'asof',
    type,
    left,
    right,
    conditions: [...equalities, ...ranges],
    output: outputOf(type, left.output, right.output),
    rows,
  };
}

function readConditions(node: PlanNode, context: ReadContext): JoinCondition[] {
  return node
    .at('conditions')
    .list()
    .map((condition) => ({
      left: readExpression(condition.at('left'), context),
      right: readExpression(condition.at('right'), context),
      comparison: readComparison(condition.at('comparison')),
    }));
}

/** The optimizer that removes columns from a join is disabled. */
function expectAllColumns(node: PlanNode): void {
  for (const side of ['left_projection_map', 'right_projection_map']) {
    const map = node.at(side);
    if (map.list().length > 0) throw map.odd('empty list');
  }
}
