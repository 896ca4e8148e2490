/**
 * Follows a column down to where its values come from. Both directions of a runtime filter are proven here: which values
 * a column can have at most, and which scans may leave rows out because of a value.
 */
import type { Expression } from '../logical/expression.ts';
import type { Join, Relation } from '../logical/relation.ts';

/** A column of a leaf: of a scan, or of another stage's output. */
export interface LeafColumn {
  readonly leaf: string;
  readonly column: number;
}

/** One step down: an input, and the index of the same column there. */
interface Below {
  readonly input: Relation;
  readonly column: number;
}

/**
 * The leaf whose column has all values that this one has, except perhaps NULL: no operator between them makes values.
 * Null if it is not a column of a leaf, or if a NULL could come in between.
 */
export function sourceOf(relation: Relation, column: number): LeafColumn | null {
  if (relation.kind === 'input') return { leaf: relation.relation, column };
  const below = sourceBelow(relation, column);
  return below === null ? null : sourceOf(below.input, below.column);
}

export function sourceBelow(relation: Relation, column: number): Below | null {
  switch (relation.kind) {
    case 'filter':
    case 'distinct':
    case 'sort':
    case 'topN':
    case 'limit':
      return { input: relation.input, column };
    case 'window':
    case 'unnest':
      return within(relation.input, column);
    case 'project':
      return plain(relation.input, relation.expressions[column]);
    case 'aggregate': {
      // Groups that are not in every set are NULL in some rows.
      const isGroup = relation.sets.every((set) => set.includes(column));
      return isGroup ? plain(relation.input, relation.groups[column]) : null;
    }
    case 'join':
      return ofJoin(relation, column, relation.type);
    case 'asof':
      return relation.type === 'inner' || relation.type === 'left'
        ? within(relation.left, column)
        : null;
    case 'cross':
      return eitherSide(relation, column);
    case 'with':
      return { input: relation.body, column };
    case 'input':
    case 'scan':
    case 'values':
    case 'empty':
    case 'positional':
    case 'set':
    case 'ref':
      return null;
    default:
      return relation satisfies never;
  }
}

/** Columns of a join that are those of one of its sides, without NULL for rows that have no match. */
function ofJoin(
  join: Pick<Join, 'left' | 'right'>,
  column: number,
  type: Join['type'],
): Below | null {
  switch (type) {
    case 'inner':
      return eitherSide(join, column);
    case 'left':
    case 'semi':
    case 'anti':
    case 'mark':
    case 'single':
      return within(join.left, column);
    case 'right':
      return column < join.left.output.length ? null : eitherSide(join, column);
    case 'full':
      return null;
    default:
      return type satisfies never;
  }
}

/**
 * The leaves whose rows may be left out by their value in this column, as far as the rows of `relation` with that value
 * are not needed. Leaving them out changes no other row of `relation`: no operator in between relates rows of
 * different values.
 */
export function filterableBelow(relation: Relation, column: number): readonly LeafColumn[] {
  if (relation.kind === 'input') return [{ leaf: relation.relation, column }];
  // Each branch by itself: the rows of the others are dropped later.
  if (relation.kind === 'set')
    return relation.operation === 'union'
      ? relation.inputs.flatMap((input) => filterableBelow(input, column))
      : [];
  const below = filterBelow(relation, column);
  return below === null ? [] : filterableBelow(below.input, below.column);
}

function filterBelow(
  relation: Exclude<Relation, { readonly kind: 'set' }>,
  column: number,
): Below | null {
  switch (relation.kind) {
    case 'filter':
    case 'sort':
      return { input: relation.input, column };
    case 'unnest':
      return within(relation.input, column);
    case 'project':
      return plain(relation.input, relation.expressions[column]);
    case 'distinct': {
      const { on, input } = relation;
      const isKey = on === null || on.some((key) => key.kind === 'column' && key.index === column);
      return isKey ? { input, column } : null;
    }
    case 'aggregate': {
      const isGroup =
        relation.sets.length > 0 && relation.sets.every((set) => set.includes(column));
      return isGroup ? plain(relation.input, relation.groups[column]) : null;
    }
    case 'window': {
      const isKey = relation.calls.every(({ partitionBy }) =>
        partitionBy.some((key) => key.kind === 'column' && key.index === column),
      );
      return isKey ? within(relation.input, column) : null;
    }
    case 'join':
      return ofJoin(relation, column, relation.type);
    case 'asof':
      return relation.type === 'inner' || relation.type === 'left'
        ? within(relation.left, column)
        : null;
    case 'cross':
      return eitherSide(relation, column);
    case 'with':
      return { input: relation.body, column };
    // What a limit returns depends on all rows, and what is read several times belongs to all of its readers.
    case 'topN':
    case 'limit':
    case 'ref':
    case 'input':
    case 'scan':
    case 'values':
    case 'empty':
    case 'positional':
      return null;
    default:
      return relation satisfies never;
  }
}

function within(input: Relation, column: number): Below | null {
  return column < input.output.length ? { input, column } : null;
}

function eitherSide({ left, right }: Pick<Join, 'left' | 'right'>, column: number): Below {
  const width = left.output.length;
  return column < width ? { input: left, column } : { input: right, column: column - width };
}

function plain(input: Relation, expression: Expression | undefined): Below | null {
  return expression?.kind === 'column' ? { input, column: expression.index } : null;
}
