/**
 * DuckDB's values as `format=json` shows them, written from the contract alone and not with the product's own code:
 * BIGINT, HUGEINT and DECIMAL as text, NaN and infinities as text, dates and times as DuckDB casts them, BLOB as base64.
 */
import {
  DuckDBArrayValue,
  DuckDBBlobValue,
  DuckDBDateValue,
  DuckDBListValue,
  DuckDBMapValue,
  DuckDBStructValue,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  DuckDBUnionValue,
} from '@duckdb/node-api';
import type { DuckDBValue } from '@duckdb/node-api';

/** JSON, in the end. */
export type Cell =
  | null
  | boolean
  | number
  | string
  | readonly Cell[]
  | { readonly [name: string]: Cell };

export interface Column {
  readonly name: string;
  readonly type: string;
}

export interface Answer {
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly Cell[])[];
}

export function cellOf(value: DuckDBValue): Cell {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value;
  if (typeof value === 'number') return numberCell(value);
  if (value instanceof DuckDBListValue || value instanceof DuckDBArrayValue)
    return value.items.map(cellOf);
  if (value instanceof DuckDBStructValue) {
    const cells = Object.entries(value.entries).map(([name, entry]) => [name, cellOf(entry)]);
    return Object.fromEntries(cells) as Readonly<Record<string, Cell>>;
  }
  if (value instanceof DuckDBMapValue)
    return value.entries.map((entry) => ({ key: cellOf(entry.key), value: cellOf(entry.value) }));
  if (value instanceof DuckDBUnionValue) return { tag: value.tag, value: cellOf(value.value) };
  if (value instanceof DuckDBBlobValue) return Buffer.from(value.bytes).toString('base64');
  if (value instanceof DuckDBDateValue) return endless(value.days, 2 ** 31 - 1) ?? value.toString();
  if (value instanceof DuckDBTimestampValue || value instanceof DuckDBTimestampTZValue)
    return endless(value.micros, 2n ** 63n - 1n) ?? value.toString();
  // BIGINT and its like, DECIMAL, UUID, BIT, TIME, INTERVAL: as text.
  return String(value);
}

function numberCell(value: number): Cell {
  if (Number.isFinite(value)) return value;
  return Number.isNaN(value) ? 'NaN' : value > 0 ? 'Infinity' : '-Infinity';
}

/** DuckDB keeps the infinities of dates and timestamps as the outermost numbers. */
function endless<T extends number | bigint>(value: T, last: T): string | undefined {
  if (value === last) return 'infinity';
  return value === -last ? '-infinity' : undefined;
}
