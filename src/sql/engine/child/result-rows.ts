/** Makes a result whose rows may be few: see `sql/result-script.ts`. */
import {
  type DuckDBMaterializedResult,
  type DuckDBValue,
  ResultReturnType,
} from '@duckdb/node-api';
import type { ResultRows, ResultValues } from '../messages.ts';
import { type Connection, Failed, type SessionConnection } from './work.ts';

export interface MadeResult {
  readonly rows: number;
  /** A JSON list; null if they are many. */
  readonly json: string | null;
  readonly hasFile: boolean;
}

/** Null if the rows do not fit into a table: then they can still be written into a file. The connection keeps the table. */
export async function makeResult(
  connection: SessionConnection,
  wish: ResultRows,
): Promise<MadeResult | null> {
  const written = await unlessShort(() => connection.run(wish.create));
  if (written === null) return null;
  const rows = await countOf(connection, wish, written);
  const isFew = rows * wish.columns.length <= wish.values;
  const few = isFew ? await unlessShort(() => jsonRows(connection, wish, rows)) : null;
  const hasFile = few === null || !few.isExact || !wish.isWhole;
  if (hasFile) await connection.run(wish.copy);
  return { rows, json: few?.json ?? null, hasFile };
}

/** The statement returns their number, unless DuckDB has made several statements of it (PIVOT). */
async function countOf(
  connection: Connection,
  { table }: ResultRows,
  written: DuckDBMaterializedResult,
): Promise<number> {
  if (written.returnType === ResultReturnType.CHANGED_ROWS) return written.rowsChanged;
  const [count] = await connection.firstColumn(`SELECT count(*) FROM ${table}`);
  return Number(count);
}

const SHORTAGES: ReadonlySet<string> = new Set(['out_of_memory', 'disk_full']);

async function unlessShort<T>(act: () => Promise<T>): Promise<T | null> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof Failed && SHORTAGES.has(error.fault.code)) return null;
    throw error;
  }
}

/** Of text, that is read at once. */
const AT_ONCE_CHARACTERS = 16 * 2 ** 20;

interface JsonRows {
  readonly json: string;
  /** Once it is read in JavaScript and written again, it still has these values. */
  readonly isExact: boolean;
}

/** Null if they are too long. A long value is not read to its end. */
async function jsonRows(
  connection: SessionConnection,
  { columns, table, timeZone, bytes: bytesMax }: ResultRows,
  rowCount: number,
): Promise<JsonRows | null> {
  if (rowCount === 0) return { json: '[]', isExact: true };
  const long = columns.filter(({ isLong }) => isLong).length;
  const atOnce = Math.floor(AT_ONCE_CHARACTERS / Math.max(1, rowCount * long));
  const valueMax = Math.min(bytesMax, atOnce) + 1;
  const list = columns.map(({ sql, isLong }) => (isLong ? `left(${sql}, ${valueMax})` : sql));
  await connection.begin(timeZone);
  let text = '';
  let isExact = true;
  for (const chunk of await connection.materialized(`SELECT ${list.join(', ')} FROM ${table}`)) {
    const values = columns.map((column, at) => texts(chunk.getColumnValues(at), column, valueMax));
    for (let row = 0; row < chunk.rowCount; row += 1) {
      text += text === '' ? '[' : ',[';
      for (const [at, column] of values.entries()) {
        const value = column[row];
        if (typeof value !== 'string') return null;
        const isTime = columns[at]?.form === 'time';
        if (value === MINUS_ZERO || (isTime && FAR.test(value))) isExact = false;
        text += at === 0 ? value : `,${value}`;
      }
      text += ']';
    }
    if (text.length > bytesMax) return null;
  }
  return Buffer.byteLength(text) > bytesMax ? null : { json: `[${text}]`, isExact };
}

/** `JSON.stringify` writes it without the sign. */
const MINUS_ZERO = '-0.0';

/**
 * DuckDB writes times with a zone by way of milliseconds as floating-point numbers, which are not exact from the year 287396 on, and reads
 * no interval of more than 999,999,999 hours.
 */
const FAR = /^"\d{6}-|\d{10}:/;

/** As JSON; null for a value that may have been cut. */
function texts(
  values: readonly DuckDBValue[],
  { form, isLong }: ResultValues,
  valueMax: number,
): readonly (string | null)[] {
  return values.map((value) => {
    if (value === null) return 'null';
    if (isLong && (value as string).length >= valueMax) return null;
    switch (form) {
      case 'text':
        return JSON.stringify(value);
      case 'quoted':
      case 'time':
        return `"${String(value)}"`;
      case 'number':
        return numberText(value as number | string);
      case 'plain':
      case 'json':
        return String(value);
    }
  });
}

/** As DuckDB writes them. */
const SPECIAL: ReadonlyMap<string, string> = new Map([
  ['nan', '"NaN"'],
  ['inf', '"Infinity"'],
  ['-inf', '"-Infinity"'],
]);

function numberText(value: number | string): string {
  if (typeof value === 'string') return SPECIAL.get(value) ?? value;
  if (Number.isFinite(value)) return Object.is(value, -0) ? MINUS_ZERO : String(value);
  return `"${value}"`;
}
