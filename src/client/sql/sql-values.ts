/** Values between SQL and JavaScript: parameters on the way in, rows on the way out. */
import { MillraceError } from '../../scheduler/core/index.ts';
import type { Json } from '../../scheduler/core/index.ts';
import type { JsonRow } from '../index.ts';
import type { SqlColumn, SqlOptions, SqlParameter, SqlRow, SqlValue } from './sql.ts';

/** Turns rows of JSON into objects with the values that a program expects. */
export function rowMaker(columns: readonly SqlColumn[]): (row: JsonRow) => SqlRow {
  const names = uniqueNames(columns.map(({ name }) => name));
  const read = columns.map(({ type }) => readerOf(type));
  return (row) => {
    const made: Record<string, SqlValue> = {};
    for (let at = 0; at < names.length; at += 1) {
      const name = names[at] as string;
      const value = read[at]?.(row[at] ?? null) ?? null;
      if (name === PROTOTYPE) Object.defineProperty(made, name, { ...PLAIN, value });
      else made[name] = value;
    }
    return made;
  };
}

/** A column with this name is a column like any other. */
const PROTOTYPE = '__proto__';
const PLAIN = { configurable: true, enumerable: true, writable: true } as const;

/** `a, a, b` is `a, a_1, b`. */
export function uniqueNames(names: readonly string[]): readonly string[] {
  const all = new Set(names);
  const given = new Set<string>();
  return names.map((name) => {
    let unique = name;
    for (let number = 1; given.has(unique); number += 1) {
      const next = `${name}_${number}`;
      if (!all.has(next)) unique = next;
    }
    given.add(unique);
    return unique;
  });
}

const BIG: ReadonlySet<string> = new Set(['BIGINT', 'UBIGINT', 'HUGEINT', 'UHUGEINT']);
const FLOATING: ReadonlySet<string> = new Set(['FLOAT', 'DOUBLE']);

function readerOf(type: string): (value: Json) => SqlValue {
  if (BIG.has(type)) return (value) => (typeof value === 'string' ? BigInt(value) : value);
  if (FLOATING.has(type)) return (value) => (typeof value === 'string' ? floating(value) : value);
  if (type === 'BLOB') {
    return (value) => (typeof value === 'string' ? bytesOf(value) : value);
  }
  return (value) => value;
}

function floating(text: string): number {
  if (/^[+]?inf(inity)?$/i.test(text)) return Number.POSITIVE_INFINITY;
  if (/^-inf(inity)?$/i.test(text)) return Number.NEGATIVE_INFINITY;
  return Number(text);
}

/** A copy: a small Buffer is a view of shared memory. */
function bytesOf(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text, 'base64'));
}

export function jsonParams(
  params: NonNullable<SqlOptions['params']>,
): readonly Json[] | Readonly<Record<string, Json>> {
  if (Array.isArray(params)) {
    return (params as readonly SqlParameter[]).map((value, at) => parameter(value, `$${at + 1}`));
  }
  return Object.fromEntries(
    Object.entries(params as Readonly<Record<string, SqlParameter>>).map(([name, value]) => [
      name,
      parameter(value, `$${name}`),
    ]),
  );
}

function parameter(value: SqlParameter, name: string): Json {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  if (typeof value === 'bigint') {
    const number = Number(value);
    // Beyond that JSON numbers are rounded; DuckDB reads the text as the number that it is compared with.
    return Number.isSafeInteger(number) ? number : value.toString();
  }
  if (value instanceof Float32Array || value instanceof Float64Array)
    return Array.from(value, (each) => parameter(each, name));
  if (Array.isArray(value))
    return (value as readonly SqlParameter[]).map((each) => parameter(each, name));
  if (value instanceof Date && !Number.isNaN(value.getTime())) return value.toISOString();
  throw new MillraceError({
    code: 'bad_input',
    what: `Parameter ${name} is ${described(value)}, which is not supported.`,
    todo: 'Use text, a finite number, a bigint, a boolean, a Date, null, a Float32Array, or a list of these.',
  });
}

function described(value: unknown): string {
  if (value === undefined) return 'undefined';
  if (typeof value === 'number') return String(value);
  return value instanceof Date ? 'an invalid Date' : `of type ${typeof value}`;
}
