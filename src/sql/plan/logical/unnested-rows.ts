/**
 * Reads UNNEST. `FROM t, unnest(t.list)`: DuckDB numbers the rows of `t`, unnests the lists of the distinct numbers, and joins both by the
 * number. Here each row is unnested where it is: a row whose number is its own is joined with nothing but what was made of it.
 */
import type { Expression } from './expression.ts';
import type { PlanNode } from './plan-node.ts';
import type { ReadContext } from './read-context.ts';
import { readExpression } from './read-expression.ts';
import { readType } from './read-type.ts';
import type { JoinCondition, Project, Relation, Unnest } from './relation.ts';
import { BOOLEAN } from './type.ts';
import { Undistributable } from './undistributable.ts';
import { mapColumns, sameExpression } from './walk.ts';

const REFUSED = 'it calls unnest() for each row, and not only in the rows of an inner join';
const NO_ORDINALITY = 2n ** 64n - 1n;

/** A call of `unnest` in SELECT. */
export function readUnnest(
  node: PlanNode,
  input: Relation,
  context: ReadContext,
  rows: number | null,
): Unnest {
  const calls = node
    .at('expressions')
    .list()
    .map((unnest) => {
      if (unnest.at('expression_class').text() !== 'BOUND_UNNEST') throw unnest.odd('UNNEST');
      return {
        list: readExpression(unnest.at('child'), context),
        type: readType(unnest.at('return_type')),
      };
    });
  return {
    kind: 'unnest',
    input,
    expressions: calls.map(({ list }) => list),
    output: [...input.output, ...calls.map(({ type }) => type)],
    rows,
  };
}

/** Whether it is a call of `unnest` in FROM, over columns of another table. */
export function isLateralUnnest(node: PlanNode): boolean {
  const [child, ...others] = node.at('children').list();
  return (
    node.at('name').text() === 'unnest' &&
    others.length === 0 &&
    child?.at('type').text() === 'LOGICAL_PROJECTION'
  );
}

/** The rows that it is called for, which `read` reads, with its list and what is handed on. */
export function readLateralUnnest(
  node: PlanNode,
  context: ReadContext,
  read: (node: PlanNode) => Relation,
): Relation {
  const [projection] = node.at('children').list();
  const [below] = projection?.at('children').list() ?? [];
  if (projection === undefined || below?.at('type').text() !== 'LOGICAL_DELIM_GET')
    throw new Undistributable('it calls unnest() for each row');
  checkPlain(node);
  const input = read(below);
  // Columns below a table function are not yet positions.
  const bound: ReadContext = { ...context, table: below.at('table_index').index() };
  const expressions = projection
    .at('expressions')
    .list()
    .map((each) => readExpression(each, bound));
  const [list] = expressions;
  const element = list?.type.id === 'LIST' ? list.type.children?.[0] : undefined;
  const [type] = node.at('returned_types').list().map(readType);
  if (list === undefined || element === undefined || type?.sql !== element.sql)
    throw node.odd('list');
  const handedOn = node
    .at('projected_input')
    .list()
    .map((place) => expressions[place.index()] ?? refuse());
  const width = input.output.length;
  const unnest: Unnest = {
    ...{ kind: 'unnest', input, expressions: [list], rows: null },
    output: [...input.output, element],
  };
  const made: Expression = { kind: 'column', index: width, type: element };
  return projected(unnest, [made, ...handedOn]);
}

/** A call without anything else: one column, no filters, no numbers of elements. */
function checkPlain(node: PlanNode): void {
  const columns = node.at('column_indexes').list();
  const isPlain =
    columns.length === 1 &&
    columns[0]?.at('index').integer() === 0n &&
    node.at('named_parameters').list().length === 0 &&
    node.at('table_filters').at('filters').list().length === 0 &&
    node.at('projection_ids').list().length === 0 &&
    node.at('ordinality_idx').integer() === NO_ORDINALITY &&
    !node.at('extra_info').at('sample_options').isThere;
  if (!isPlain) throw new Undistributable('it calls unnest() for each row');
}

/**
 * The join of numbered rows, which `cte` refers to, with what was made of the distinct values of `columns` of them: the same
 * without a join. Throws if the other side is more than rows of rows.
 */
export function unnestedRows(
  join: Relation,
  cte: number,
  numbered: Relation,
  columns: readonly Expression[],
): Relation {
  if (join.kind !== 'join' || join.type !== 'inner') return refuse();
  const isKeptLeft = join.left.kind === 'ref' && join.left.cte === cte;
  const other = rowsOf(isKeptLeft ? join.right : join.left, cte, numbered, columns);
  const own = numbered.output.map((type, index): Expression => ({ kind: 'column', index, type }));
  const [left, right] = isKeptLeft ? [own, other.columns] : [other.columns, own];
  const pairs = join.conditions.map((each) => ({
    ...each,
    left: inTermsOf(each.left, left),
    right: inTermsOf(each.right, right),
  }));
  // The row itself. Any other condition is one on what was made of it.
  const isSame = (each: JoinCondition): boolean =>
    each.comparison === 'IS NOT DISTINCT FROM' && sameExpression(each.left, each.right);
  if (!pairs.some((each) => isSame(each) && isNumber(each.left, numbered))) return refuse();
  const both = [...left, ...right];
  const conditions = [
    ...pairs
      .filter((each) => !isSame(each))
      .map((each): Expression => ({ kind: 'compare', ...each, type: BOOLEAN })),
    ...(join.predicate === null ? [] : [inTermsOf(join.predicate, both)]),
  ];
  const { relation } = other;
  const { output } = relation;
  const made: Relation =
    conditions.length === 0
      ? relation
      : { kind: 'filter', input: relation, conditions, output, rows: join.rows };
  return projected({ ...made, rows: join.rows }, both);
}

interface Rows {
  /** Its first columns are those of the numbered rows. */
  readonly relation: Relation;
  /** The columns of the other side, in terms of these. */
  readonly columns: readonly Expression[];
}

/** What the other side makes of distinct values, made of the rows themselves. */
function rowsOf(
  relation: Relation,
  cte: number,
  numbered: Relation,
  columns: readonly Expression[],
): Rows {
  if (relation.kind === 'distinct') {
    const { input } = relation;
    const isOfRows =
      input.kind === 'project' && input.input.kind === 'ref' && input.input.cte === cte;
    return isOfRows ? { relation: numbered, columns } : refuse();
  }
  if (relation.kind !== 'project' && relation.kind !== 'filter' && relation.kind !== 'unnest')
    return refuse();
  const rows = rowsOf(relation.input, cte, numbered, columns);
  const own = rows.relation.output;
  if (relation.kind === 'project')
    return { ...rows, columns: relation.expressions.map((each) => inTermsOf(each, rows.columns)) };
  if (relation.kind === 'filter') {
    const conditions = relation.conditions.map((each) => inTermsOf(each, rows.columns));
    return { ...rows, relation: { ...relation, input: rows.relation, conditions, output: own } };
  }
  const elements = relation.output.slice(relation.input.output.length);
  const expressions = relation.expressions.map((each) => inTermsOf(each, rows.columns));
  const made = elements.map((type, at): Expression => ({
    kind: 'column',
    index: own.length + at,
    type,
  }));
  const output = [...own, ...elements];
  return {
    relation: { ...relation, input: rows.relation, expressions, output },
    columns: [...rows.columns, ...made],
  };
}

function inTermsOf(expression: Expression, columns: readonly Expression[]): Expression {
  return mapColumns(expression, ({ index }) => columns[index] ?? refuse());
}

/** Whether every row has another value of it. */
function isNumber(expression: Expression, rows: Relation): boolean {
  if (rows.kind === 'filter') return isNumber(expression, rows.input);
  if (expression.kind !== 'column' || rows.kind !== 'window') return false;
  const call = rows.calls[expression.index - rows.input.output.length];
  return call?.name === 'row_number' && call.partitionBy.length === 0;
}

function projected(input: Relation, expressions: readonly Expression[]): Project {
  const output = expressions.map(({ type }) => type);
  return { kind: 'project', input, expressions, output, rows: input.rows };
}

function refuse(): never {
  throw new Undistributable(REFUSED);
}
