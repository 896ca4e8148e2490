/**
 * Drops bounds that joins imply. After DuckDB has ordered the joins of a query, it narrows their sides to the values that the other
 * side can have. A fragment must not repeat such bounds: DuckDB would take them for its author's when it orders the joins of the
 * fragment, and expect that each leaves a fifth of the rows. It finds them again by itself.
 *
 * What is dropped is proven by the ranges of values in the footers of files: rows beyond them match nothing further up. Nothing
 * is dropped below what could fail for such a row, as the cast of a text can.
 */
import type { Expression } from '../logical/expression.ts';
import type { Join, JoinType, Relation } from '../logical/relation.ts';
import { inputsOf } from '../logical/walk.ts';
import type { PinnedTable } from '../physical/table.ts';
import { tableOf } from './distribute-scan.ts';
import { cannotFail } from './expressions.ts';
import { withInputs } from './relations.ts';

type Range = readonly [least: number, greatest: number];
/** By column: rows with a value beyond are not needed, nor those with NULL. */
type Ranges = ReadonlyMap<number, Range>;

const NO_RANGES: Ranges = new Map();

export function withoutImpliedBounds(
  relation: Relation,
  tables: readonly PinnedTable[],
  needed: Ranges = NO_RANGES,
): Relation {
  const below = (input: Relation, ranges: Ranges): Relation =>
    withoutImpliedBounds(input, tables, ranges);
  switch (relation.kind) {
    case 'scan': {
      const own = new Map([...needed].map(([at, range]) => [relation.keep[at] ?? -1, range]));
      return { ...relation, filters: notImplied(relation.filters, own) };
    }
    case 'filter': {
      const input = below(
        relation.input,
        relation.conditions.every(cannotFail) ? needed : NO_RANGES,
      );
      const conditions = notImplied(relation.conditions, needed);
      return conditions.length === 0 ? input : { ...relation, input, conditions };
    }
    case 'project': {
      const ranges = new Map<number, Range>();
      if (relation.expressions.every(cannotFail))
        for (const [at, range] of needed) narrow(ranges, relation.expressions[at], range);
      return { ...relation, input: below(relation.input, ranges) };
    }
    case 'join': {
      const { left, right } = sidesOf(relation, tables, needed);
      return { ...relation, left: below(relation.left, left), right: below(relation.right, right) };
    }
    case 'aggregate':
    case 'asof':
    case 'cross':
    case 'distinct':
    case 'empty':
    case 'input':
    case 'limit':
    case 'positional':
    case 'ref':
    case 'set':
    case 'sort':
    case 'topN':
    case 'unnest':
    case 'values':
    case 'window':
    case 'with': {
      const inputs = inputsOf(relation).map((input) => below(input, NO_RANGES));
      return withInputs(relation, inputs);
    }
    default:
      return relation satisfies never;
  }
}

/** Which rows a join needs of its sides. */
function sidesOf(
  join: Join,
  tables: readonly PinnedTable[],
  needed: Ranges,
): Readonly<Record<'left' | 'right', Ranges>> {
  const { type, conditions, predicate } = join;
  const compared = conditions.flatMap((pair) => [pair.left, pair.right]);
  if (![...compared, ...(predicate === null ? [] : [predicate])].every(cannotFail))
    return { left: NO_RANGES, right: NO_RANGES };
  const width = join.left.output.length;
  const [left, right] = [new Map<number, Range>(), new Map<number, Range>()];
  for (const [at, range] of needed) {
    const isLeft = at < width;
    // More rows of a scalar subquery could be an error.
    if (type !== 'single' && keepsColumns(type, isLeft ? 'left' : 'right'))
      (isLeft ? left : right).set(isLeft ? at : at - width, range);
  }
  for (const pair of conditions.filter(({ comparison }) => comparison === '=')) {
    const ofLeft = meet(rangeOf(join.left, pair.left, tables), rangeFor(left, pair.left));
    const ofRight = meet(rangeOf(join.right, pair.right, tables), rangeFor(right, pair.right));
    if (ofRight !== null && dropsUnmatched(type, 'left')) narrow(left, pair.left, ofRight);
    if (ofLeft !== null && dropsUnmatched(type, 'right')) narrow(right, pair.right, ofLeft);
  }
  return { left, right };
}

/** Whether rows of this side that match nothing leave the result as it is. */
function dropsUnmatched(type: JoinType, side: 'left' | 'right'): boolean {
  switch (type) {
    case 'inner':
    case 'semi':
      return true;
    case 'left':
    case 'anti':
    case 'single':
      return side === 'right';
    case 'right':
      return side === 'left';
    // Whether a side has any row, or a NULL, may count.
    case 'mark':
    case 'full':
      return false;
    default:
      return type satisfies never;
  }
}

/** Whether the columns of this side come out, and never NULL because a row has no match. */
function keepsColumns(type: JoinType, side: 'left' | 'right'): boolean {
  if (type === 'inner') return true;
  if (type === 'full') return false;
  return (type === 'right') === (side === 'right');
}

function notImplied(conditions: readonly Expression[], needed: Ranges): readonly Expression[] {
  return needed.size === 0 || !conditions.every(cannotFail)
    ? conditions
    : conditions.filter((each) => !isImplied(each, needed));
}

/** Whether all needed rows satisfy it. */
function isImplied(condition: Expression, needed: Ranges): boolean {
  if (condition.kind === 'between') {
    const { low, high, includesLow, includesHigh } = condition;
    const [range, least, greatest] = [rangeFor(needed, condition.input), whole(low), whole(high)];
    if (range === null || least === null || greatest === null) return false;
    return includesLow && includesHigh && least <= range[0] && range[1] <= greatest;
  }
  if (condition.kind === 'and') return condition.parts.every((part) => isImplied(part, needed));
  if (condition.kind !== 'compare') return false;
  const [range, bound] = [rangeFor(needed, condition.left), whole(condition.right)];
  if (range === null || bound === null) return false;
  if (condition.comparison === '<=') return range[1] <= bound;
  return condition.comparison === '>=' && bound <= range[0];
}

const WHOLE = /^(?:CAST\()?'?(-?\d+)'?(?: AS \w+\))?$/;

/** The value of a whole number; null for anything else. */
function whole(expression: Expression): number | null {
  if (expression.kind !== 'constant') return null;
  const value = Number(WHOLE.exec(expression.sql)?.[1] ?? NaN);
  return Number.isSafeInteger(value) ? value : null;
}

function rangeFor(ranges: Ranges, key: Expression): Range | null {
  return key.kind === 'column' ? (ranges.get(key.index) ?? null) : null;
}

function narrow(ranges: Map<number, Range>, key: Expression | undefined, range: Range): void {
  if (key?.kind !== 'column') return;
  ranges.set(key.index, meet(ranges.get(key.index) ?? null, range) ?? range);
}

function meet(one: Range | null, other: Range | null): Range | null {
  if (one === null || other === null) return one ?? other;
  return [Math.max(one[0], other[0]), Math.min(one[1], other[1])];
}

/** All values that a column can have by the files, NULL aside; null if that is not known. */
function rangeOf(
  relation: Relation,
  key: Expression | undefined,
  tables: readonly PinnedTable[],
): Range | null {
  if (key?.kind !== 'column') return null;
  switch (relation.kind) {
    case 'scan': {
      const place = relation.columns[relation.keep[key.index] ?? -1];
      const name = typeof place === 'number' ? relation.names[place] : undefined;
      const stored = tableOf(relation, tables).columns.find((each) => each.name === name);
      return stored?.range ?? null;
    }
    case 'filter':
    case 'distinct':
    case 'sort':
    case 'topN':
    case 'limit':
      return rangeOf(relation.input, key, tables);
    case 'project':
      return rangeOf(relation.input, relation.expressions[key.index], tables);
    case 'aggregate':
      return rangeOf(relation.input, relation.groups[key.index], tables);
    case 'join':
      return rangeInJoin(relation, key.index, tables);
    case 'asof':
    case 'cross':
    case 'empty':
    case 'input':
    case 'positional':
    case 'ref':
    case 'set':
    case 'unnest':
    case 'values':
    case 'window':
    case 'with':
      return null;
    default:
      return relation satisfies never;
  }
}

function rangeInJoin(join: Join, at: number, tables: readonly PinnedTable[]): Range | null {
  const width = join.left.output.length;
  const [own, other] = at < width ? (['left', 'right'] as const) : (['right', 'left'] as const);
  const index = own === 'left' ? at : at - width;
  const key = join.conditions.find(
    (each) => each.comparison === '=' && each[own].kind === 'column' && each[own].index === index,
  );
  const column: Expression = {
    kind: 'column',
    index,
    type: join[own].output[index] as Expression['type'],
  };
  const range = rangeOf(join[own], column, tables);
  // In a row without a match it is a value of its own side.
  return key === undefined || !dropsUnmatched(join.type, own)
    ? range
    : meet(range, rangeOf(join[other], key[other], tables));
}
