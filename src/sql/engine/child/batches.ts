/** Batches of custom operators from and to DuckDB's data chunks. */
import {
  DuckDBBlobValue,
  DuckDBDataChunk,
  type DuckDBType,
  type DuckDBValue,
} from '@duckdb/node-api';
import type { ColumnValues, OperatorBatch } from '../../../tasks/executors/index.ts';
import type { CustomColumn } from '../messages.ts';

type Typed =
  | Float32ArrayConstructor
  | Float64ArrayConstructor
  | Int8ArrayConstructor
  | Int16ArrayConstructor
  | Int32ArrayConstructor
  | Uint8ArrayConstructor
  | Uint16ArrayConstructor
  | Uint32ArrayConstructor;

const NUMBERS: ReadonlyMap<string, Typed> = new Map<string, Typed>([
  ['TINYINT', Int8Array],
  ['SMALLINT', Int16Array],
  ['INTEGER', Int32Array],
  ['UTINYINT', Uint8Array],
  ['USMALLINT', Uint16Array],
  ['UINTEGER', Uint32Array],
  ['FLOAT', Float32Array],
  ['DOUBLE', Float64Array],
]);

const WIDE_NUMBERS: ReadonlyMap<string, BigInt64ArrayConstructor | BigUint64ArrayConstructor> =
  new Map<string, BigInt64ArrayConstructor | BigUint64ArrayConstructor>([
    ['BIGINT', BigInt64Array],
    ['UBIGINT', BigUint64Array],
  ]);

/**
 * A copy of the values: those of a chunk lie in memory that DuckDB frees with it, and an operator may keep what it was
 * given. Numbers are copied as they lie there.
 */
export function batchOf(chunk: DuckDBDataChunk, columns: readonly CustomColumn[]): OperatorBatch {
  const { rowCount } = chunk;
  const lists: Record<string, ColumnValues> = {};
  for (const [at, column] of columns.entries())
    Object.defineProperty(lists, column.name, {
      value: numbersOf(chunk, at, column) ?? valuesOf(chunk.getColumnValues(at), column),
      enumerable: true,
    });
  return { rowCount, columns: lists };
}

/** Null if it has a NULL, or if it is not a column of numbers. Value by value it would take 10 to 45 times as long. */
function numbersOf(
  chunk: DuckDBDataChunk,
  at: number,
  { type, form }: CustomColumn,
): ColumnValues | null {
  const made = form === 'plain' ? (NUMBERS.get(type) ?? WIDE_NUMBERS.get(type)) : undefined;
  if (made === undefined) return null;
  // Not part of its documented interface, so nothing relies on them being there.
  const { items, validity } = chunk.getColumnVector(at) as unknown as VectorParts;
  if (!(items instanceof made) || items.length < chunk.rowCount) return null;
  if (validity?.data !== null && !isAllValid(validity, chunk.rowCount)) return null;
  return items.slice(0, chunk.rowCount);
}

interface VectorParts {
  readonly items?: unknown;
  readonly validity?: { readonly data?: unknown; itemValid?(row: number): boolean };
}

function isAllValid(validity: VectorParts['validity'], rows: number): boolean {
  for (let row = 0; row < rows; row += 1) if (validity?.itemValid?.(row) !== true) return false;
  return true;
}

function valuesOf(values: readonly DuckDBValue[], { type, form }: CustomColumn): ColumnValues {
  if (form === 'json')
    return values.map((each) => (each === null ? null : (JSON.parse(String(each)) as unknown)));
  if (form === 'text') return values;
  if (type === 'BLOB')
    return values.map((each) => (each instanceof DuckDBBlobValue ? each.bytes : null));
  if (values.includes(null)) return values;
  const wide = WIDE_NUMBERS.get(type);
  if (wide !== undefined) return wide.from(values as bigint[]);
  return NUMBERS.get(type)?.from(values as number[]) ?? values;
}

/** Something is wrong with what an operator or a function has returned. */
export class BadOutput extends Error {}

const ROWS_MAX = 2_048;

/** Chunks of at most so many rows as DuckDB takes. Throws `BadOutput`. */
export function* chunksOf(
  batch: unknown,
  columns: readonly CustomColumn[],
  types: readonly DuckDBType[],
): Generator<DuckDBDataChunk> {
  const lists = listsOf(batch, columns);
  const rows = lists[0]?.length ?? 0;
  for (let from = 0; from < rows; from += ROWS_MAX) {
    const count = Math.min(ROWS_MAX, rows - from);
    const chunk = DuckDBDataChunk.create(types, count);
    for (const [at, column] of columns.entries())
      chunk.setColumnValues(at, stored(lists[at] as ColumnValues, column, from, count));
    yield chunk;
  }
}

function listsOf(batch: unknown, columns: readonly CustomColumn[]): readonly ColumnValues[] {
  if (typeof batch !== 'object' || batch === null || !('columns' in batch))
    throw new BadOutput('it must be an object with columns');
  const given = batch.columns;
  if (typeof given !== 'object' || given === null)
    throw new BadOutput('its columns must be an object');
  const extra = Object.keys(given).find((name) => !columns.some((column) => column.name === name));
  if (extra !== undefined)
    throw new BadOutput(`it has the column '${extra}', which is not declared`);
  const rowCount = 'rowCount' in batch ? batch.rowCount : undefined;
  let rows: number | null = typeof rowCount === 'number' ? rowCount : null;
  return columns.map(({ name }) => {
    const list = (given as Readonly<Record<string, unknown>>)[name];
    if (!isList(list)) throw new BadOutput(`it has no list of values for the column '${name}'`);
    rows ??= list.length;
    if (list.length === rows) return list;
    throw new BadOutput(`its column '${name}' has ${list.length} values, not ${rows}`);
  });
}

function isList(value: unknown): value is ColumnValues {
  return Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView));
}

function stored(
  list: ColumnValues,
  column: CustomColumn,
  from: number,
  count: number,
): readonly DuckDBValue[] {
  const made: DuckDBValue[] = [];
  for (let at = from; at < from + count; at += 1) {
    const value = list[at];
    if (value === null || value === undefined) made.push(null);
    else made.push(checked(value, column, at));
  }
  return made;
}

export function checked(
  value: unknown,
  { name, type, form }: CustomColumn,
  row: number,
): DuckDBValue {
  const fit =
    form === 'plain' ? plain(value, type) : form === 'json' ? jsonOf(value) : textOf(value);
  if (fit !== undefined) return fit;
  throw new BadOutput(
    `row ${row} of its column '${name}' is ${shown(value)}, not ${article(type)}`,
  );
}

const INTEGERS: ReadonlyMap<string, readonly [number, number]> = new Map([
  ['TINYINT', [-128, 127]],
  ['SMALLINT', [-32_768, 32_767]],
  ['INTEGER', [-2_147_483_648, 2_147_483_647]],
  ['UTINYINT', [0, 255]],
  ['USMALLINT', [0, 65_535]],
  ['UINTEGER', [0, 4_294_967_295]],
]);

function plain(value: unknown, type: string): DuckDBValue | undefined {
  switch (type) {
    case 'BOOLEAN':
      return typeof value === 'boolean' ? value : undefined;
    case 'VARCHAR':
      return typeof value === 'string' ? value : undefined;
    case 'BLOB':
      return value instanceof Uint8Array ? new DuckDBBlobValue(value) : undefined;
    case 'FLOAT':
    case 'DOUBLE':
      return typeof value === 'number' ? value : undefined;
    case 'BIGINT':
    case 'UBIGINT': {
      const whole = Number.isSafeInteger(value) ? BigInt(value as number) : value;
      if (typeof whole !== 'bigint') return undefined;
      const fits = type === 'BIGINT' ? BigInt.asIntN(64, whole) : BigInt.asUintN(64, whole);
      return fits === whole ? whole : undefined;
    }
    default: {
      const [min, max] = INTEGERS.get(type) ?? [0, -1];
      const number = typeof value === 'bigint' ? Number(value) : value;
      const isWhole = typeof number === 'number' && Number.isInteger(number);
      return isWhole && number >= min && number <= max ? number : undefined;
    }
  }
}

function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(ArrayBuffer.isView(value) ? Array.from(value as never) : value);
  } catch {
    return undefined;
  }
}

function textOf(value: unknown): string | undefined {
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? undefined : value.toISOString();
  const isText =
    typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint';
  return isText ? String(value) : undefined;
}

function shown(value: unknown): string {
  const text = typeof value === 'bigint' ? `${value}n` : JSON.stringify(value);
  return (text ?? typeof value).slice(0, 60);
}

function article(type: string): string {
  return `${/^[AEIOU]/.test(type) ? 'an' : 'a'} ${type}`;
}
