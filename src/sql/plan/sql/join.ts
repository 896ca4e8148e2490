/**
 * Writes joins that SQL has no syntax for: mark joins (`IN` and `EXISTS` as a value that may be NULL) and scalar
 * subqueries. A correlated subquery would mean the same, but when DuckDB decorrelates it again over a WITH it can end
 * up with a cross product. So they are written as plain joins with the right side grouped by the keys.
 */
import type { Expression } from '../logical/expression.ts';
import type { Comparison, Join, JoinCondition } from '../logical/relation.ts';
import { Undistributable } from '../logical/undistributable.ts';
import { printNested, type ColumnText } from './expression.ts';
import { columnName, nested, printSelect } from './select.ts';

/** Both sides as tables with the aliases `l` and `r`. */
export interface JoinText {
  readonly left: string;
  readonly right: string;
  readonly leftColumn: ColumnText;
  readonly rightColumn: ColumnText;
}

export function printConditions(
  conditions: readonly JoinCondition[],
  left: ColumnText,
  right: ColumnText,
): string[] {
  return conditions.map((condition) => {
    const print = condition.comparison === '=' ? printKey : printNested;
    const sides = [print(condition.left, left), print(condition.right, right)];
    return sides.join(` ${condition.comparison} `);
  });
}

/** Equal values of these types have different bytes, or (BLOB) DuckDB looks for other bytes than it has written. */
const BYTES_DIFFER: ReadonlySet<string> = new Set(['FLOAT', 'DOUBLE', 'BLOB']);

/**
 * A key of an equality. While it joins, DuckDB pushes the single value of a small side down into the files of the
 * other side and asks their Bloom filters for it. These miss 0 for -0, one NaN for another, and BLOBs that need
 * escapes. One task often has a side that small where the whole query does not. An expression is not pushed down.
 */
function printKey(key: Expression, column: ColumnText): string {
  const text = printNested(key, column);
  if (key.kind !== 'column' || !BYTES_DIFFER.has(key.type.id)) return text;
  return `CASE WHEN ${text} IS NULL THEN NULL ELSE ${text} END`;
}

/** A mark is true if there is a match, false if there is none, and NULL if a NULL could have been one. */
export function printMark(join: Join, text: JoinText): string {
  if (join.predicate !== null) throw rare();
  // Correlated columns never make a mark NULL; compared values do.
  const keys = join.conditions.filter(({ comparison }) => comparison === 'IS NOT DISTINCT FROM');
  const compared = join.conditions.filter((condition) => !keys.includes(condition));
  const [first, ...others] = compared;
  if (first === undefined) return printExists(join, keys, text);
  const isEquality = compared.every(({ comparison }) => comparison === '=');
  if (isEquality && keys.length === 0) return printIn(join, compared, text);
  if (others.length > 0) throw rare();
  return printAny(join, keys, first, text);
}

function rare(): Undistributable {
  return new Undistributable('it compares values with a subquery in an unsupported way');
}

function leftColumns(join: Join, text: JoinText): string[] {
  return join.left.output.map((_, i) => text.leftColumn(i));
}

/** Without other conditions DuckDB plans the same join. */
function printIn(join: Join, compared: readonly JoinCondition[], text: JoinText): string {
  const lefts = compared.map(({ left }) => printKey(left, text.leftColumn));
  const rights = compared.map(({ right }) => printKey(right, text.rightColumn));
  const left = lefts.length === 1 ? (lefts[0] ?? '') : `(${lefts.join(', ')})`;
  const mark = `${left} IN ${nested(printSelect({ columns: rights, from: text.right }))}`;
  return printSelect({ columns: [...leftColumns(join, text), mark], from: text.left });
}

/** `g` has each combination of the keys once, with right columns chosen by the caller. */
function withGroups(
  keys: readonly JoinCondition[],
  aggregates: readonly string[],
  text: JoinText,
): string {
  const columns = keys.map(({ right }) => printKey(right, text.rightColumn));
  const groups = printSelect({
    columns: [...columns, ...aggregates],
    from: text.right,
    // The first columns, by position: keys may be any expression.
    groupBy: columns.map((_, i) => String(i + 1)).join(', '),
  });
  return `${text.left}\nLEFT JOIN ${nested(groups)} AS g\nON ${onKeys(keys, text, 'g')}`;
}

function onKeys(keys: readonly JoinCondition[], text: JoinText, alias: string): string {
  const on = keys.map(({ left, comparison }, i) => {
    return `${printKey(left, text.leftColumn)} ${comparison} ${alias}.${columnName(i)}`;
  });
  return on.length === 0 ? 'true' : on.join(' AND ');
}

function printExists(join: Join, keys: readonly JoinCondition[], text: JoinText): string {
  const from = withGroups(keys, ['count(*)'], text);
  const count = `g.${columnName(keys.length)}`;
  const columns = [...leftColumns(join, text), `coalesce(${count}, 0) > 0`];
  return printSelect({ columns, from });
}

/** `x > ANY (...)` for each combination of the keys: only the least and the greatest value matter. */
function printAny(
  join: Join,
  keys: readonly JoinCondition[],
  condition: JoinCondition,
  text: JoinText,
): string {
  if (condition.comparison === '=') return printKeyedIn(join, keys, condition, text);
  const value = printNested(condition.left, text.leftColumn);
  const other = printNested(condition.right, text.rightColumn);
  const aggregates = ['count(*)', `count(${other})`, `min(${other})`, `max(${other})`];
  const [count, filled, least, greatest] = aggregates.map(
    (_, i) => `g.${columnName(keys.length + i)}`,
  );
  const isMatch = extremes(condition.comparison, value, `${least}`, `${greatest}`);
  const mark = markText({ value, isMatch, count: `${count}`, filled: `${filled}` });
  const from = withGroups(keys, aggregates, text);
  return printSelect({ columns: [...leftColumns(join, text), mark], from });
}

interface MarkParts {
  readonly value: string;
  readonly isMatch: string;
  /** How many values there are to compare with, and how many of them are not NULL. */
  readonly count: string;
  readonly filled: string;
}

function markText({ value, isMatch, count, filled }: MarkParts): string {
  const branches = [
    `WHEN coalesce(${count}, 0) = 0 THEN false`,
    `WHEN ${isMatch} THEN true`,
    `WHEN ${value} IS NULL OR ${filled} < ${count} THEN NULL`,
  ];
  return `CASE ${branches.join(' ')} ELSE false END`;
}

/** `x IN (...)` for each combination of the keys: one join counts, another one looks for the value itself. */
function printKeyedIn(
  join: Join,
  keys: readonly JoinCondition[],
  condition: JoinCondition,
  text: JoinText,
): string {
  const both = [...keys, condition];
  const compared = printSelect({
    columns: both.map(({ right }) => printKey(right, text.rightColumn)),
    from: text.right,
  });
  const names = both.map((_, i) => `t.${columnName(i)}`);
  const groups = printSelect({
    columns: [...names.slice(0, -1), 'count(*)', `count(${names.at(-1)})`],
    from: 'compared AS t',
    groupBy: names.slice(0, -1).join(', '),
  });
  const matches = printSelect({ distinct: 'DISTINCT', columns: names, from: 'compared AS t' });
  const last = columnName(keys.length);
  const value = printNested(condition.left, text.leftColumn);
  const mark = markText({
    value,
    isMatch: `m.${last} IS NOT NULL`,
    count: `g.${last}`,
    filled: `g.${columnName(both.length)}`,
  });
  const from = [
    text.left,
    `LEFT JOIN ${nested(groups)} AS g`,
    `ON ${onKeys(keys, text, 'g')}`,
    `LEFT JOIN ${nested(matches)} AS m`,
    `ON ${onKeys(both, text, 'm')}`,
  ];
  const marked = printSelect({
    columns: [...leftColumns(join, text), mark],
    from: from.join('\n'),
  });
  return `WITH compared AS MATERIALIZED ${nested(compared)}\n${marked}`;
}

/** Whether any value between the two compares to `value` in this way. */
function extremes(comparison: Comparison, value: string, least: string, greatest: string): string {
  switch (comparison) {
    case '>':
    case '>=':
      return `${value} ${comparison} ${least}`;
    case '<':
    case '<=':
      return `${value} ${comparison} ${greatest}`;
    case '<>':
      return `${value} <> ${least} OR ${value} <> ${greatest}`;
    case '=':
    case 'IS DISTINCT FROM':
    case 'IS NOT DISTINCT FROM':
      throw rare();
  }
}

const MANY_ROWS =
  'More than one row returned by a subquery used as an expression - ' +
  'scalar subqueries can only return a single row.';

/** A left join that fails if a row has two matches. */
export function printSingle(join: Join, text: JoinText): string {
  const { conditions } = join;
  const isKeyed = conditions.every(
    ({ comparison }) => comparison === '=' || comparison === 'IS NOT DISTINCT FROM',
  );
  if (!isKeyed || join.predicate !== null) throw rare();
  const values = join.right.output.map((_, i) => `first(${text.rightColumn(i)})`);
  const from = withGroups(conditions, [...values, 'count(*)'], text);
  const place = (i: number): string => `g.${columnName(conditions.length + i)}`;
  const columns = [...leftColumns(join, text), ...values.map((_, i) => place(i))];
  if (!join.errorOnMany) return printSelect({ columns, from });
  // As a condition it is kept even if nothing reads the value.
  const check = `CASE WHEN ${place(values.length)} > 1 THEN error('${MANY_ROWS}') ELSE true END`;
  return printSelect({ columns, from, where: [check] });
}
