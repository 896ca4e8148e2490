/** Reads window functions. */
import type { Expression, OrderBy, WindowCall } from './expression.ts';
import type { PlanNode } from './plan-node.ts';
import { readBoundAggregate } from './read-aggregate.ts';
import type { ReadContext } from './read-context.ts';
import { readExpression, readOrder } from './read-expression.ts';
import { readType } from './read-type.ts';
import { sameExpression } from './walk.ts';
import { Undistributable, unknownPlan } from './undistributable.ts';

const FUNCTIONS: Readonly<Record<string, string>> = {
  WINDOW_ROW_NUMBER: 'row_number',
  WINDOW_RANK: 'rank',
  WINDOW_RANK_DENSE: 'dense_rank',
  WINDOW_NTILE: 'ntile',
  WINDOW_PERCENT_RANK: 'percent_rank',
  WINDOW_CUME_DIST: 'cume_dist',
  WINDOW_FIRST_VALUE: 'first_value',
  WINDOW_LAST_VALUE: 'last_value',
  WINDOW_NTH_VALUE: 'nth_value',
  WINDOW_LEAD: 'lead',
  WINDOW_LAG: 'lag',
  WINDOW_FILL: 'fill',
};

export function readWindow(node: PlanNode, context: ReadContext): WindowCall {
  if (node.at('expression_class').text() !== 'BOUND_WINDOW') throw node.odd('window');
  const read = (part: PlanNode): Expression => readExpression(part, context);
  const bound = readFunction(node, context);
  const orderBy = readOrder(node.at('orders').list(), context);
  const argOrder = readOrder(node.at('arg_orders').list(), context);
  const filter = node.at('filters');
  return {
    name: bound.name,
    args: bound.args,
    partitionBy: node.at('partitions').list().map(read),
    orderBy,
    ...readFrame(node, orderBy, context),
    ignoreNulls: node.at('ignore_nulls').bool(),
    distinct: node.at('distinct').bool(),
    filter: filter.isThere ? read(filter) : null,
    argOrder: argOrder.length > 0 ? argOrder : bound.order,
    type: readType(node.at('return_type')),
  };
}

function readFunction(node: PlanNode, context: ReadContext): ReturnType<typeof readBoundAggregate> {
  const kind = node.at('type').text();
  if (kind === 'WINDOW_AGGREGATE') return readBoundAggregate(node, context);
  const name = FUNCTIONS[kind];
  if (name === undefined) throw unknownPlan(`it has a window of the kind ${kind}`);
  const further = [node.at('offset_expr'), node.at('default_expr')].filter((part) => part.isThere);
  const args = [...node.at('children').list(), ...further].map((part) =>
    readExpression(part, context),
  );
  if (node.at('default_expr').isThere && further.length < 2) throw node.odd('offset');
  return { name, args, order: [] };
}

interface Bound {
  /** ROWS, RANGE or GROUPS; null if it makes no difference. */
  readonly unit: string | null;
  readonly text: string;
  readonly value: PlanNode | null;
}

function readFrame(
  node: PlanNode,
  orderBy: readonly OrderBy[],
  context: ReadContext,
): Pick<WindowCall, 'frame' | 'frameValues'> {
  const start = readBound(node, 'start');
  const end = readBound(node, 'end');
  const exclude = readExclude(node.at('exclude_clause'));
  const isDefault =
    node.at('start').text() === 'UNBOUNDED_PRECEDING' &&
    node.at('end').text() === 'CURRENT_ROW_RANGE';
  if (isDefault && exclude === '') return { frame: '', frameValues: [] };
  const unit = start.unit ?? end.unit ?? 'ROWS';
  if ((end.unit ?? unit) !== unit) throw node.odd('one unit for the frame');
  const frameValues: Expression[] = [];
  const side = (bound: Bound): string => {
    if (bound.value === null) return bound.text;
    const value = readExpression(bound.value, context);
    frameValues.push(unit === 'RANGE' ? distanceOf(value, orderBy, bound.text) : value);
    return `{${frameValues.length - 1}} ${bound.text}`;
  };
  return { frame: `${unit} BETWEEN ${side(start)} AND ${side(end)}${exclude}`, frameValues };
}

function readBound(node: PlanNode, which: 'start' | 'end'): Bound {
  const kind = node.at(which).text();
  if (kind === 'UNBOUNDED_PRECEDING' || kind === 'UNBOUNDED_FOLLOWING') {
    return { unit: null, text: kind.replace('_', ' '), value: null };
  }
  const current = /^CURRENT_ROW_(ROWS|RANGE|GROUPS)$/.exec(kind);
  if (current?.[1] !== undefined) return { unit: current[1], text: 'CURRENT ROW', value: null };
  const offset = /^EXPR_(PRECEDING|FOLLOWING)_(ROWS|RANGE|GROUPS)$/.exec(kind);
  if (offset?.[1] === undefined || offset[2] === undefined) throw node.odd('frame');
  return { unit: offset[2], text: offset[1], value: node.at(`${which}_expr`) };
}

const EXCLUDES: Readonly<Record<string, string>> = {
  NO_OTHER: '',
  CURRENT_ROW: ' EXCLUDE CURRENT ROW',
  GROUP: ' EXCLUDE GROUP',
  TIES: ' EXCLUDE TIES',
};

function readExclude(node: PlanNode): string {
  const text = EXCLUDES[node.text()];
  if (text === undefined) throw node.odd('exclusion');
  return text;
}

/**
 * For a RANGE frame DuckDB computes the bound: the ordering value minus or plus the distance. SQL needs the distance.
 */
function distanceOf(end: Expression, orderBy: readonly OrderBy[], direction: string): Expression {
  const [order] = orderBy;
  const sum = withoutCast(end);
  const refusal = new Undistributable('it has a window with a RANGE of an unsupported kind');
  if (order === undefined || orderBy.length !== 1 || sum.kind !== 'call') throw refusal;
  const [from, distance] = sum.args;
  const isBefore = (direction === 'PRECEDING') !== order.descending;
  if (sum.name !== (isBefore ? '-' : '+') || sum.args.length !== 2) throw refusal;
  if (from === undefined || distance === undefined) throw refusal;
  if (!sameExpression(withoutCast(from), withoutCast(order.expression))) throw refusal;
  return distance;
}

function withoutCast(expression: Expression): Expression {
  return expression.kind === 'cast' && !expression.isTry
    ? withoutCast(expression.input)
    : expression;
}
