/**
 * What the planner needs to know about types: the width of their values, and whether equal values have equal hashes.
 */
import type { SqlType } from '../logical/type.ts';

/** Bytes per value in an exchange, in Parquet with light compression. Only for choosing between plans. */
const WIDTHS: Readonly<Record<string, number>> = {
  BOOLEAN: 0.2,
  TINYINT: 1,
  UTINYINT: 1,
  SMALLINT: 2,
  USMALLINT: 2,
  INTEGER: 4,
  UINTEGER: 4,
  FLOAT: 4,
  DATE: 4,
  ENUM: 2,
  HUGEINT: 16,
  UHUGEINT: 16,
  UUID: 16,
  INTERVAL: 12,
  VARCHAR: 16,
  BLOB: 32,
  BIT: 16,
};

const TEXT_OF_UNKNOWN_LENGTH = 32;

export function widthOf(type: SqlType): number {
  if (type.id === 'DECIMAL') return (type.width ?? 38) <= 9 ? 4 : (type.width ?? 38) <= 18 ? 8 : 16;
  if (type.id === 'LIST' || type.id === 'MAP') return 4 * childWidth(type) + 4;
  if (type.id === 'ARRAY') return (type.size ?? 4) * childWidth(type);
  if (type.id === 'STRUCT' || type.id === 'UNION') return childWidth(type);
  return WIDTHS[type.id] ?? (isFixed(type.id) ? 8 : TEXT_OF_UNKNOWN_LENGTH);
}

function childWidth(type: SqlType): number {
  return (type.children ?? []).reduce((sum, child) => sum + widthOf(child), 0);
}

function isFixed(id: string): boolean {
  return id.startsWith('TIME') || id === 'BIGINT' || id === 'UBIGINT' || id === 'DOUBLE';
}

const INTEGERS: ReadonlySet<string> = new Set([
  ...['TINYINT', 'SMALLINT', 'INTEGER', 'BIGINT', 'HUGEINT'],
  ...['UTINYINT', 'USMALLINT', 'UINTEGER', 'UBIGINT', 'UHUGEINT'],
]);

export function isInteger(type: SqlType): boolean {
  return INTEGERS.has(type.id);
}

export function isFloat(type: SqlType): boolean {
  return type.id === 'FLOAT' || type.id === 'DOUBLE';
}

/**
 * Whether equal values are identical, so that a function returns the same for both. This does not hold for floats (0
 * and -0), intervals (a month and 30 days) and text with a collation.
 */
export function isExact(type: SqlType): boolean {
  if ((type.collation ?? '') !== '') return false;
  if (isInteger(type)) return true;
  return EXACT.has(type.id) || type.id.startsWith('TIMESTAMP');
}

const EXACT: ReadonlySet<string> = new Set([
  ...['BOOLEAN', 'DECIMAL', 'VARCHAR', 'BLOB', 'DATE', 'TIME', 'UUID', 'ENUM'],
]);

const HASHED_BY_VALUE: ReadonlySet<string> = new Set(['FLOAT', 'DOUBLE', 'INTERVAL', 'TIME_NS']);

/** Whether values that compare equal have the same hash. A type of which this is not known is never a partition key. */
export function isHashable(type: SqlType): boolean {
  if (isExact(type) || HASHED_BY_VALUE.has(type.id)) return true;
  const isNested = type.id === 'LIST' || type.id === 'STRUCT' || type.id === 'ARRAY';
  return isNested && (type.children ?? []).every(isHashable);
}
