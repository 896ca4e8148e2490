/**
 * Estimates of value widths and distinct counts. They only choose between plans that are all correct. DuckDB's own
 * estimate of the number of groups over Parquet is the number of rows, so it is of no use here.
 */
import type { Expression } from '../logical/expression.ts';
import type { SqlType } from '../logical/type.ts';
import type { TableColumn } from '../physical/table.ts';
import { partsOf } from '../logical/walk.ts';
import { widthOf } from './types.ts';

export interface ColumnStats {
  /** Bytes per value. */
  readonly width: number;
  /** An upper estimate of the number of distinct values. */
  readonly distinct: number;
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
  rows: number,
): ColumnStats {
  const unknown = unknownStats(type);
  const width =
    (stored?.bytes ?? null) === null || rows < 1 ? unknown.width : (stored?.bytes ?? 0) / rows;
  return { width, distinct: Math.min(unknown.distinct, stored?.distinct ?? rows, rows) };
}

export function expressionStats(
  expression: Expression,
  columns: readonly ColumnStats[],
): ColumnStats {
  if (expression.kind === 'column')
    return columns[expression.index] ?? unknownStats(expression.type);
  return { width: widthOf(expression.type), distinct: distinctOf(expression, columns) };
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

export function rowBytes(columns: readonly ColumnStats[]): number {
  return columns.reduce((sum, { width }) => sum + width, 0);
}

/** The estimated number of groups. */
export function groupCount(
  groups: readonly Expression[],
  columns: readonly ColumnStats[],
  rows: number,
): number {
  const product = groups.reduce((all, group) => all * expressionStats(group, columns).distinct, 1);
  return Math.min(product, rows);
}
