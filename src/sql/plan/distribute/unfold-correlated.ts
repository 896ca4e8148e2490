/**
 * Unfolds correlated EXISTS and NOT EXISTS. DuckDB joins the subquery with the distinct values of the outer columns that
 * it refers to, and then the outer rows with the result. If the subquery only joins and filters by these values, one
 * semi or anti join with the subquery's own tables means the same: a row matches if all conditions hold for it.
 */
import type { Expression } from '../logical/expression.ts';
import type { Cross, Filter, Join, JoinCondition, Relation, With } from '../logical/relation.ts';
import { mirrored } from '../logical/read-join.ts';
import { BOOLEAN } from '../logical/type.ts';
import { columnsIn, inputsOf, mapColumns, sameExpression, shiftColumns } from '../logical/walk.ts';
import { column, columnsOf } from './expressions.ts';
import { eachRelation, withInputs } from './relations.ts';

/** Returns the relation itself if it has nothing to unfold. */
export function unfoldCorrelated(relation: Relation): Relation {
  const inputs = inputsOf(relation);
  const unfolded = inputs.map(unfoldCorrelated);
  const isSame = unfolded.every((input, at) => input === inputs[at]);
  const same = isSame ? relation : withInputs(relation, unfolded);
  return (same.kind === 'with' ? unfoldedJoin(same) : null) ?? same;
}

function unfoldedJoin({ cte, definition, body, rows }: With): Relation | null {
  if (body.kind !== 'join' || (body.type !== 'semi' && body.type !== 'anti')) return null;
  if (body.left.kind !== 'ref' || body.left.cte !== cte || body.predicate !== null) return null;
  const outer = distinctColumns(body.right, cte);
  const inner = outer === null ? null : withoutOuter(body.right, cte);
  if (outer === null || inner === null || inner.rest === null) return null;
  const back = backConditions(body.conditions, inner, outer);
  if (back === null) return null;
  const { rest } = inner;
  const width = definition.output.length;
  const both = (expression: Expression): Expression =>
    mapColumns(expression, ({ index, type }) =>
      isOuter(index) ? (outer[outerPlace(index)] as Expression) : column(width + index, type),
    );
  const conditions: JoinCondition[] = [...back];
  for (const condition of inner.conditions) {
    const pair = asPair(condition);
    if (pair === null) return null;
    conditions.push({
      left: both(pair.left),
      right: shiftColumns(both(pair.right), -width),
      comparison: pair.comparison,
    });
  }
  const isKeyed = conditions.some(({ comparison }) => comparison === '=');
  if (!isKeyed) return null;
  return { ...body, left: definition, right: rest, conditions, rows, isCorrelated: true };
}

/**
 * A subquery without the distinct outer values. In its expressions, outer value i is the column -1 - i and all others
 * are columns of `rest`, which is null if there is nothing but the outer values.
 */
interface Inner {
  readonly rest: Relation | null;
  readonly columns: readonly Expression[];
  /** All refer to outer values. */
  readonly conditions: readonly Expression[];
}

const isOuter = (index: number): boolean => index < 0;
const outerPlace = (index: number): number => -1 - index;

/** Columns of the outer rows whose distinct values are read; null unless they are read exactly once. */
function distinctColumns(relation: Relation, cte: number): readonly Expression[] | null {
  const found = [...eachRelation(relation)].filter((each) => isReference(each, cte));
  const reads = [...eachRelation(relation)].filter((each) => isOuterValues(each, cte));
  const [values] = reads;
  if (found.length !== 1 || reads.length !== 1 || values?.kind !== 'distinct') return null;
  return values.input.kind === 'project' ? values.input.expressions : null;
}

function isReference(relation: Relation, cte: number): boolean {
  return relation.kind === 'ref' && relation.cte === cte;
}

function isOuterValues(relation: Relation, cte: number): boolean {
  if (relation.kind !== 'distinct' || relation.on !== null) return false;
  return relation.input.kind === 'project' && isReference(relation.input.input, cte);
}

function withoutOuter(relation: Relation, cte: number): Inner | null {
  if (isOuterValues(relation, cte)) {
    const columns = relation.output.map((type, at) => column(-1 - at, type));
    return { rest: null, columns, conditions: [] };
  }
  if (![...eachRelation(relation)].some((each) => isReference(each, cte)))
    return { rest: relation, columns: columnsOf(relation.output), conditions: [] };
  switch (relation.kind) {
    case 'project': {
      const inner = withoutOuter(relation.input, cte);
      if (inner === null) return null;
      return { ...inner, columns: relation.expressions.map((each) => overInner(each, inner)) };
    }
    case 'filter':
      return filteredInner(relation, cte);
    case 'cross':
      return joinedInner(relation, cte);
    case 'join':
      return relation.type === 'inner' ? joinedInner(relation, cte) : null;
    case 'scan':
    case 'input':
    case 'values':
    case 'empty':
    case 'aggregate':
    case 'asof':
    case 'positional':
    case 'set':
    case 'distinct':
    case 'window':
    case 'sort':
    case 'topN':
    case 'limit':
    case 'unnest':
    case 'with':
    case 'ref':
      return null;
  }
}

function overInner(expression: Expression, { columns }: Inner): Expression {
  return mapColumns(expression, ({ index }) => columns[index] as Expression);
}

function refersToOuter(expression: Expression): boolean {
  return [...columnsIn(expression)].some(isOuter);
}

function filteredInner(filter: Filter, cte: number): Inner | null {
  const inner = withoutOuter(filter.input, cte);
  if (inner === null) return null;
  const all = filter.conditions.map((each) => overInner(each, inner));
  const outer = all.filter(refersToOuter);
  const own = all.filter((each) => !refersToOuter(each));
  if (own.length > 0 && inner.rest === null) return null;
  const { rest } = inner;
  const filtered =
    rest === null || own.length === 0
      ? rest
      : { kind: 'filter' as const, input: rest, conditions: own, output: rest.output, rows: null };
  return { ...inner, rest: filtered, conditions: [...inner.conditions, ...outer] };
}

function joinedInner(join: Join | Cross, cte: number): Inner | null {
  const [left, right] = [withoutOuter(join.left, cte), withoutOuter(join.right, cte)];
  if (left === null || right === null) return null;
  const width = left.rest?.output.length ?? 0;
  const shift = (expression: Expression): Expression =>
    mapColumns(expression, (each) =>
      isOuter(each.index) ? each : column(each.index + width, each.type),
    );
  const columns = [...left.columns, ...right.columns.map(shift)];
  const inner = { rest: null, columns, conditions: [] };
  const own: JoinCondition[] = [];
  const outer: Expression[] = [];
  for (const condition of join.kind === 'join' ? join.conditions : []) {
    const pair = {
      left: overInner(condition.left, left),
      right: overInner(condition.right, right),
      comparison: condition.comparison,
    };
    const isOwn = !refersToOuter(pair.left) && !refersToOuter(pair.right);
    if (isOwn) own.push(pair);
    else outer.push({ kind: 'compare', ...pair, right: shift(pair.right), type: BOOLEAN });
  }
  const predicate =
    join.kind === 'join' && join.predicate !== null ? overInner(join.predicate, inner) : null;
  if (predicate !== null && refersToOuter(predicate)) outer.push(predicate);
  const ownPredicate = predicate === null || refersToOuter(predicate) ? null : predicate;
  const rest = restOf(join, left.rest, right.rest, own, ownPredicate);
  if (rest === undefined) return null;
  const conditions = [...left.conditions, ...right.conditions.map(shift), ...outer];
  return { rest, columns, conditions };
}

/** Undefined if nothing would be left that joins both sides. */
function restOf(
  join: Join | Cross,
  left: Relation | null,
  right: Relation | null,
  conditions: readonly JoinCondition[],
  predicate: Expression | null,
): Relation | null | undefined {
  if (left === null || right === null)
    return conditions.length === 0 && predicate === null ? (left ?? right) : undefined;
  if (join.kind === 'cross' || conditions.length === 0) return undefined;
  const output = [...left.output, ...right.output];
  return { ...join, left, right, conditions, predicate, output };
}

/**
 * The conditions between the outer rows and the subquery that remain. Each outer value must be compared with its own
 * column, which then holds by itself; null if one is not.
 */
function backConditions(
  conditions: readonly JoinCondition[],
  inner: Inner,
  outer: readonly Expression[],
): readonly JoinCondition[] | null {
  const bound = new Set<number>();
  const rest: JoinCondition[] = [];
  for (const { left, right: of, comparison } of conditions) {
    const right = overInner(of, inner);
    const place = outer.findIndex(
      (own, at) => sameExpression(left, own) && isOuterValue(right, at, inner),
    );
    if (place >= 0 && comparison === 'IS NOT DISTINCT FROM') bound.add(place);
    else if (refersToOuter(right)) return null;
    else rest.push({ left, right, comparison });
  }
  return bound.size === outer.length ? rest : null;
}

/** Whether an expression of the subquery is the outer value at this place, or a condition makes it equal to it. */
function isOuterValue(expression: Expression, place: number, { conditions }: Inner): boolean {
  const isValue = (each: Expression): boolean =>
    each.kind === 'column' && each.index === -1 - place;
  if (isValue(expression)) return true;
  return conditions.some((condition) => {
    if (condition.kind !== 'compare' || condition.comparison !== '=') return false;
    const { left, right } = condition;
    return (
      (isValue(left) && sameExpression(right, expression)) ||
      (isValue(right) && sameExpression(left, expression))
    );
  });
}

/** A comparison of outer values with columns of the subquery, outer values first; null if it is anything else. */
function asPair(condition: Expression): JoinCondition | null {
  if (condition.kind !== 'compare') return null;
  const { left, right, comparison } = condition;
  if (isAllOuter(left) && isAllInner(right)) return { left, right, comparison };
  if (isAllOuter(right) && isAllInner(left))
    return { left: right, right: left, comparison: mirrored(comparison) };
  return null;
}

function isAllOuter(expression: Expression): boolean {
  const columns = [...columnsIn(expression)];
  return columns.length > 0 && columns.every(isOuter);
}

function isAllInner(expression: Expression): boolean {
  const columns = [...columnsIn(expression)];
  return columns.length > 0 && !columns.some(isOuter);
}
