/** Converts rows to cells of DuckDB and back. */
import {
  BIGINT,
  BOOLEAN,
  DOUBLE,
  DuckDBListValue,
  type DuckDBType,
  type DuckDBValue,
  INTEGER,
  LIST,
  listValue,
  VARCHAR,
} from '@duckdb/node-api';

import { nameHash } from './hash-index.ts';

export type Cell = number | string | boolean | readonly number[] | readonly string[] | null;
export type CellType =
  | 'integer'
  | 'bigint'
  | 'double'
  | 'boolean'
  | 'varchar'
  | 'integer[]'
  | 'varchar[]';

const TYPES: Readonly<Record<CellType, DuckDBType>> = {
  integer: INTEGER,
  bigint: BIGINT,
  double: DOUBLE,
  boolean: BOOLEAN,
  varchar: VARCHAR,
  'integer[]': LIST(INTEGER),
  'varchar[]': LIST(VARCHAR),
};

export const duckdbType = (type: CellType): DuckDBType => TYPES[type];

/** Our numbers are all below 2^53, so the way through a bigint loses nothing. */
export function toDuckdb(type: CellType, cell: Cell): DuckDBValue {
  if (cell === null) return null;
  if (type === 'bigint') return BigInt(cell as number);
  if (type === 'integer[]' || type === 'varchar[]') {
    return listValue(cell as readonly DuckDBValue[]);
  }
  return cell as DuckDBValue;
}

export function fromDuckdb(value: DuckDBValue): Cell {
  if (typeof value === 'bigint') return Number(value);
  if (value instanceof DuckDBListValue) return value.items.map(fromDuckdb) as readonly number[];
  return value as Cell;
}

export interface Column<Row> {
  readonly name: string;
  readonly type: CellType;
  readonly get: (row: Row) => Cell;
  /** Puts a cell that was read into the row that is being built. */
  readonly set: (row: Record<string, unknown>, cell: Cell) => void;
}

export interface Table<Row> {
  readonly name: string;
  /** All but `shard`, which every table has and comes first. */
  readonly columns: readonly Column<Row>[];
}

/** A column with the name of its field, spelled the SQL way. */
export function field<Row>(name: keyof Row & string, type: CellType): Column<Row> {
  return {
    name: name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    type,
    get: (row) => row[name] as Cell,
    set: (row, cell) => {
      row[name] = cell;
    },
  };
}

/** A column that only the index reads, see hash-index.ts. */
export function hashed<Row>(name: string, get: (row: Row) => string | null): Column<Row> {
  const hash = (row: Row): Cell => {
    const text = get(row);
    return text === null ? null : nameHash(text);
  };
  return { name, type: 'bigint', get: hash, set: () => {} };
}

export function rowOf<Row>(table: Table<Row>, cells: readonly Cell[]): Row {
  const row: Record<string, unknown> = {};
  for (const [at, column] of table.columns.entries()) column.set(row, cells[at] ?? null);
  return row as Row;
}
