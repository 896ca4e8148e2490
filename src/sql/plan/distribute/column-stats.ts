/**
 * Estimates of value widths and distinct counts. They only choose between plans that are all correct. DuckDB's own
 * estimate of the number of groups over Parquet is the number of rows, so it is of no use here.
 */
import type { Expression } from '../logical/expression.ts';
import type { SqlType } from '../logical/type.ts';
import type { TableColumn } from '../physical/table.ts';
import { columnsIn, partsOf } from '../logical/walk.ts';
import { widthOf } from './types.ts';

export interface ColumnStats {
  /** Bytes per value. */
  readonly width: number;
  /** An upper estimate of the number of distinct values. */
  readonly distinct: number;
  /** Columns of one source have no more combinations than it has rows. */
  readonly source?: Source;
  /** It is different in each row of the source, or equal to such a column: it tells all others of the source. */
  readonly isKey?: boolean;
  /** `distinct` is known, no filter may have left out values, and rows beside each other do not tend to have the same ones. */
  readonly isSpread?: boolean;
}

/** One scan of a table; the same object in all of its columns. */
export interface Source {
  readonly rows: number;
}

/** Types with few values in practice. */
const DOMAINS: Readonly<Record<string, number>> = {
  BOOLEAN: 3,
  TINYINT: 256,
  UTINYINT: 256,
  DATE: 20_000,
};

/** The estimate when only the type is known. */
export function unknownStats(type: SqlType): ColumnStats {
  const values = DOMAINS[type.id] ?? (type.id === 'ENUM' ? type.names?.length : undefined);
  return { width: widthOf(type), distinct: values ?? Infinity };
}

/** The estimate for a column of a file. */
export function storedStats(
  type: SqlType,
  stored: TableColumn | undefined,
  source: Source,
  isInOrder = false,
): ColumnStats {
  const { rows } = source;
  const unknown = unknownStats(type);
  const width =
    (stored?.bytes ?? null) === null || rows < 1 ? unknown.width : (stored?.bytes ?? 0) / rows;
  const distinct = Math.min(unknown.distinct, stored?.distinct ?? rows, rows);
  const isSpread = stored?.distinct !== undefined && !isInOrder;
  return { width, distinct, source, isKey: (stored?.distinct ?? 0) >= rows, isSpread };
}

export function expressionStats(
  expression: Expression,
  columns: readonly ColumnStats[],
): ColumnStats {
  if (expression.kind === 'column')
    return columns[expression.index] ?? unknownStats(expression.type);
  const own = { width: widthOf(expression.type), distinct: distinctOf(expression, columns) };
  const sources = new Set([...columnsIn(expression)].map((at) => columns[at]?.source));
  const [source] = sources;
  return source === undefined || sources.size > 1 ? own : { ...own, source };
}

/** The number of values of each date part. */
const PARTS: Readonly<Record<string, number>> = {
  year: 100,
  quarter: 4,
  month: 12,
  week: 53,
  day: 31,
  dayofweek: 7,
  dayofyear: 366,
  hour: 24,
  minute: 60,
  second: 60,
};
const TRUNCATED_DATES = 5_000;

/** An expression has at most as many values as there are combinations of its inputs. */
function distinctOf(expression: Expression, columns: readonly ColumnStats[]): number {
  const own = unknownStats(expression.type).distinct;
  if (expression.kind === 'constant') return 1;
  if (expression.kind === 'call' && expression.args.length === 0) return own;
  const of = (part: Expression): number => expressionStats(part, columns).distinct;
  if (expression.kind === 'case') {
    const results = [...expression.branches.map(({ result }) => result), expression.otherwise];
    return Math.min(
      own,
      results.reduce((sum, each) => sum + of(each), 0),
    );
  }
  const combined = partsOf(expression).reduce((product, part) => product * of(part), 1);
  return Math.min(own, combined, namedLimit(expression));
}

function namedLimit(expression: Expression): number {
  if (expression.kind !== 'call') return Infinity;
  if (expression.name === 'date_trunc') return TRUNCATED_DATES;
  const [first] = expression.args;
  const isPart = expression.name === 'date_part' && first?.kind === 'constant';
  const name = isPart ? first.sql.replaceAll("'", '') : expression.name;
  return PARTS[name] ?? Infinity;
}

/** The same columns where rows are left out. */
export function ofSome(columns: readonly ColumnStats[]): readonly ColumnStats[] {
  return columns.map((each) => (each.isSpread === true ? { ...each, isSpread: false } : each));
}

export function rowBytes(columns: readonly ColumnStats[]): number {
  return columns.reduce((sum, { width }) => sum + width, 0);
}

/** The estimated number of groups. */
export function groupCount(
  groups: readonly Expression[],
  columns: readonly ColumnStats[],
  rows: number,
): number {
  return Math.min(combinations(groups, columns), rows);
}

/** How many combinations of their values there may be. */
export function combinations(
  groups: readonly Expression[],
  columns: readonly ColumnStats[],
): number {
  return bySource(groups, columns).reduce((all, { count }) => all * count, 1);
}

/**
 * How many there are likely to be at least: of the columns of a table whose rows these are, taken to have their values independently of
 * each other. Those of a table that they are joined with may be found seldom or often.
 */
export function likelyCombinations(
  groups: readonly Expression[],
  columns: readonly ColumnStats[],
  rows: number,
): number {
  const spread = bySource(groups, columns).filter(
    ({ source, isSpread }) => isSpread && source !== undefined && source.rows >= rows,
  );
  return Math.max(1, ...spread.map(({ count }) => count));
}

interface OfSource {
  readonly source: Source | undefined;
  readonly count: number;
  readonly isSpread: boolean;
}

function bySource(
  groups: readonly Expression[],
  columns: readonly ColumnStats[],
): readonly OfSource[] {
  const found = new Map<Source | undefined, OfSource>();
  for (const group of groups) {
    const { distinct, source, isSpread = false } = expressionStats(group, columns);
    const known = found.get(source) ?? { source, count: 1, isSpread: true };
    const count = Math.min(known.count * distinct, source?.rows ?? Infinity);
    found.set(source, { source, count, isSpread: known.isSpread && isSpread });
  }
  return [...found.values()];
}

/** Columns that must be equal: if one of them is a key of its source, the other one is, too. */
export function withEqual(
  columns: readonly ColumnStats[],
  pairs: readonly (readonly [number, number])[],
): readonly ColumnStats[] {
  const made = [...columns];
  for (const [left, right] of pairs) {
    const [one, other] = [made[left], made[right]];
    if (one === undefined || other === undefined) continue;
    const isOfRight = other.isKey === true && (one.isKey !== true || rowsOf(other) < rowsOf(one));
    const { source } = isOfRight ? other : one;
    if (source === undefined || (!isOfRight && one.isKey !== true)) continue;
    made[left] = { ...one, source, isKey: true };
    made[right] = { ...other, source, isKey: true };
  }
  return made;
}

function rowsOf({ source }: ColumnStats): number {
  return source?.rows ?? Infinity;
}
