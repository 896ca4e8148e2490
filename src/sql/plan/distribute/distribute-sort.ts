/**
 * Distributes the sort of a large result. Rows are range-partitioned by bounds that come from a sample of them; each task
 * sorts one range, and the result is the ranges one after the other. Any bounds give the right order, as long as all
 * tasks use the same ones: the sample only decides how balanced the tasks are.
 */
import type { AggregateCall, Expression, OrderBy } from '../logical/expression.ts';
import { RANDOM_NUMBER } from '../logical/read-sample.ts';
import type { Aggregate, Cross, Relation, Sort, TopN } from '../logical/relation.ts';
import { BOOLEAN, DOUBLE, INTEGER, VARCHAR, castTo, plainType } from '../logical/type.ts';
import type { DistributeContext } from './context.ts';
import { distributeSort } from './distribute-order.ts';
import { column, columnsOf, expressionKey } from './expressions.ts';
import { isOrderedBy, isPartitioned } from './partitioning.ts';
import { project } from './relations.ts';
import { applied } from './repartition.ts';
import { bytesOf, type Subplan } from './subplan.ts';
import { unknownStats } from './column-stats.ts';

/** With this many sampled rows for each range, ranges differ by a few per cent. */
const SAMPLED_ROWS = 256;
const BLOB = plainType('BLOB');

/** A sort whose order is that of the result, so that it may be in several tasks. */
export function distributeResultSort(
  context: DistributeContext,
  relation: Sort,
  input: Subplan,
): Subplan {
  const order = relation.order.filter(({ expression }) => expression.kind !== 'constant');
  const pays =
    isPartitioned(input.partitioning) &&
    order.length > 0 &&
    bytesOf(input) > context.settings.sortThresholdBytes;
  if (!pays) return distributeSort(context, relation, input);
  const isInOrder = isOrderedBy(input.partitioning, relation.order);
  if (isInOrder && isOneScan(context, input.relation)) return sorted(relation, input);
  const source = readTwice(context, input);
  const width = source.relation.output.length;
  const ranged = inRanges(context, source, order);
  const inOrder = sorted({ ...relation, order }, ranged);
  const { output } = source.relation;
  return {
    ...inOrder,
    relation: project(inOrder.relation, columnsOf(output)),
    columns: inOrder.columns.slice(0, width),
  };
}

/** The same rows, so that two stages may read them. Where only rows are filtered, that is less work than writing them. */
export function readTwice({ draft }: DistributeContext, input: Subplan): Subplan {
  const isSame = leafBelow(input.relation) !== null && input.nonDeterministic === null;
  return isSame ? { ...input, scan: null } : draft.materialize(input);
}

/** Range-partitioned by this order, with the number of the range as the last column. */
export function inRanges(
  context: DistributeContext,
  source: Subplan,
  order: readonly OrderBy[],
): Subplan {
  const numbered = withRangeNumber(source, order, boundsOf(context, source, order));
  const by = column(source.relation.output.length, INTEGER);
  return context.draft.repartitionInOrder(numbered, by, order);
}

/** Of joined or forwarded rows a plan does not show that the ranges of one table are those of all of them. */
function isOneScan({ draft }: DistributeContext, relation: Relation): boolean {
  const leaf = leafBelow(relation);
  return leaf !== null && draft.leaves.get(leaf)?.kind === 'scan';
}

/** Each task sorts its own rows. */
function sorted(relation: Sort, input: Subplan): Subplan {
  const { output } = input.relation;
  return applied({ ...relation, input: input.relation, output }, input);
}

/** The name of the only input, if nothing but projections and filters is above it. */
function leafBelow(relation: Relation): string | null {
  if (relation.kind === 'input') return relation.relation;
  const isByRow = relation.kind === 'project' || relation.kind === 'filter';
  return isByRow ? leafBelow(relation.input) : null;
}

/** One row with the bounds, in every task. */
function boundsOf(context: DistributeContext, source: Subplan, order: readonly OrderBy[]): Subplan {
  const { draft } = context;
  const limit = SAMPLED_ROWS * draft.partitions;
  const drawn = project(source.relation, [RANDOM_NUMBER, sortKey(order)]);
  const columns = drawn.output.map(unknownStats);
  const first: TopN = {
    ...{ kind: 'topN', input: drawn, limit, offset: 0, output: drawn.output, rows: limit },
    order: columnsOf(drawn.output).map((expression) => ({
      expression,
      descending: false,
      nullsFirst: false,
    })),
  };
  const rows = Math.min(limit * draft.partitions, source.rows);
  const nonDeterministic = SAMPLE;
  const all = draft.gather(applied(first, source, { rows, columns, nonDeterministic }));
  const final: TopN = { ...first, input: all.relation };
  draft.pairPartial(first, final);
  const bounds = boundsRelation(final, draft.partitions);
  return draft.broadcast(
    applied(bounds, all, { rows: 1, columns: bounds.output.map(unknownStats), isOneRow: true }),
  );
}

const SAMPLE = 'its rows are a random sample';

/** Why an expression has another value in a second run; null if it has not. */
export function sampleNonDeterminism(expressions: readonly Expression[]): string | null {
  return expressions.some((each) => expressionKey(each) === expressionKey(RANDOM_NUMBER))
    ? SAMPLE
    : null;
}

/**
 * A value whose bytes are in the order of the rows, with NULLs and directions: DuckDB sorts by the same. The empty text at
 * the end makes it a BLOB, whatever the types; a short key would be an integer.
 */
export function sortKey(order: readonly OrderBy[]): Expression {
  const args = order.flatMap(({ expression, descending, nullsFirst }) => [
    expression,
    text(`${descending ? 'DESC' : 'ASC'} NULLS ${nullsFirst ? 'FIRST' : 'LAST'}`),
  ]);
  const end = [text(''), text('ASC NULLS LAST')];
  return { kind: 'call', name: 'create_sort_key', args: [...args, ...end], type: BLOB };
}

function text(value: string): Expression {
  return { kind: 'constant', sql: `'${value}'`, type: VARCHAR };
}

/** The keys that split the sample into ranges of equal size, in ascending order, as the columns of one row. */
export function boundsRelation(sample: Relation, partitions: number): Aggregate {
  const calls = Array.from({ length: partitions - 1 }, (_, at) =>
    quantile((at + 1) / partitions, column(1, BLOB)),
  );
  const output = calls.map(({ type }) => type);
  return {
    ...{ kind: 'aggregate', input: sample, groups: [], sets: [], calls, grouping: [] },
    output,
    rows: 1,
  };
}

function quantile(share: number, key: Expression): AggregateCall {
  const fraction: Expression = {
    kind: 'constant',
    sql: castTo(String(share), DOUBLE),
    type: DOUBLE,
  };
  return {
    ...{ name: 'quantile_disc', args: [key, fraction], distinct: false, filter: null, order: [] },
    type: BLOB,
  };
}

/** The rows with the number of their range as the last column. */
function withRangeNumber(source: Subplan, order: readonly OrderBy[], bounds: Subplan): Subplan {
  const relation = rangedRelation(source.relation, order, bounds.relation);
  const columns = [...source.columns, unknownStats(INTEGER)];
  return applied(relation, source, { columns });
}

export function rangedRelation(
  source: Relation,
  order: readonly OrderBy[],
  bounds: Relation,
): Relation {
  const own = columnsOf(source.output);
  const left = project(source, [...own, sortKey(order)]);
  const output = [...left.output, ...bounds.output];
  const cross: Cross = { kind: 'cross', left, right: bounds, output, rows: source.rows };
  const key = column(own.length, BLOB);
  const at = (bound: number): Expression => column(own.length + bound, BLOB);
  return project(cross, [...own, rangeNumber(key, at, 0, bounds.output.length)]);
}

/**
 * How many bounds are not greater than the key, by binary search between `low` and `high`. Equal keys have the same
 * number. A bound that is NULL, because there are no rows, is greater than every key.
 */
function rangeNumber(
  key: Expression,
  bound: (number: number) => Expression,
  low: number,
  high: number,
): Expression {
  if (low === high) return { kind: 'constant', sql: castTo(String(low), INTEGER), type: INTEGER };
  const middle = Math.ceil((low + high) / 2);
  const when: Expression = {
    ...{ kind: 'compare', comparison: '>=', left: key, right: bound(middle) },
    type: BOOLEAN,
  };
  return {
    kind: 'case',
    branches: [{ when, result: rangeNumber(key, bound, middle, high) }],
    otherwise: rangeNumber(key, bound, low, middle - 1),
    type: INTEGER,
  };
}
