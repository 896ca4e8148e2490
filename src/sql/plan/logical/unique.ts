/** Which columns identify the rows of a relation, as far as its operators show. */
import type { Expression } from './expression.ts';
import type { Join, Relation } from './relation.ts';

const NONE: ReadonlySet<number> = new Set();

/** Whether it has at most one row. */
export function hasOneRow(relation: Relation): boolean {
  return isUniqueBy(relation, NONE);
}

/**
 * Whether no two rows have the same values in these columns, with NULL as a value like any other. Returns false if
 * that is not known.
 */
export function isUniqueBy(relation: Relation, columns: ReadonlySet<number>): boolean {
  switch (relation.kind) {
    case 'aggregate': {
      const [set = [...relation.groups.keys()], ...others] = relation.sets;
      return others.length === 0 && set.every((group) => columns.has(group));
    }
    case 'distinct':
      return isDistinctBy(relation.on, relation.input.output.length, columns);
    case 'project':
      return isUniqueBy(relation.input, throughProject(relation.expressions, columns));
    case 'topN':
    case 'limit':
      return (
        (relation.limit !== null && relation.limit <= 1) || isUniqueBy(relation.input, columns)
      );
    case 'filter':
    case 'sort':
    case 'window':
      return isUniqueBy(relation.input, columns);
    case 'with':
      return isUniqueBy(relation.body, columns);
    case 'join':
      return isJoinUniqueBy(relation, columns);
    case 'values':
      return relation.lists.length <= 1;
    case 'empty':
      return true;
    case 'scan':
    case 'input':
    case 'cross':
    case 'asof':
    case 'positional':
    case 'set':
    case 'unnest':
    case 'ref':
      return false;
  }
}

function isDistinctBy(
  on: readonly Expression[] | null,
  width: number,
  columns: ReadonlySet<number>,
): boolean {
  if (on === null) return Array.from({ length: width }, (_, i) => i).every((i) => columns.has(i));
  return on.every((key) => key.kind === 'column' && columns.has(key.index));
}

/** The input's columns that are among the projected ones. */
function throughProject(
  expressions: readonly Expression[],
  columns: ReadonlySet<number>,
): ReadonlySet<number> {
  const below = new Set<number>();
  for (const column of columns) {
    const expression = expressions[column];
    if (expression?.kind === 'column') below.add(expression.index);
  }
  return below;
}

/** Whether each row of one side, identified by its columns, matches at most one row of the other side. */
function isJoinUniqueBy(join: Join, columns: ReadonlySet<number>): boolean {
  const width = join.left.output.length;
  const left = new Set([...columns].filter((column) => column < width));
  switch (join.type) {
    case 'semi':
    case 'anti':
    case 'mark':
    case 'single':
      return isUniqueBy(join.left, left);
    case 'inner':
    case 'left': {
      const right = new Set([...columns].flatMap((i) => (i < width ? [] : [i - width])));
      const keys = equalColumns(join);
      // A column that equals a known column is known as well; NULL keys of `=` never match in an inner join.
      for (const [l, r] of keys) {
        if (left.has(l)) right.add(r);
        if (right.has(r) && join.type === 'inner') left.add(l);
      }
      return isUniqueBy(join.left, left) && isUniqueBy(join.right, right);
    }
    case 'right':
    case 'full':
      return false;
  }
}

function equalColumns(join: Join): readonly (readonly [left: number, right: number])[] {
  return join.conditions.flatMap(({ left, right, comparison }) =>
    (comparison === '=' || comparison === 'IS NOT DISTINCT FROM') &&
    left.kind === 'column' &&
    right.kind === 'column'
      ? [[left.index, right.index] as const]
      : [],
  );
}
