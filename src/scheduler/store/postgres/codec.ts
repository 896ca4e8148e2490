/**
 * How a row becomes columns and columns become a row again. A table's codec names each field once,
 * with its column; statements take their column lists from it, and values travel as one array a
 * column, in the text form that PostgreSQL reads: `{1,NULL,"a b"}`.
 */
import { invariant, type Instant, type TaskError } from '../../core/index.ts';
import { badRow } from '../row-checks.ts';
import type { Readers } from '../row-readers.ts';

type Scalar = string | number | boolean | null;
export type Values = Readonly<Record<string, unknown>>;

type SqlType =
  | 'smallint'
  | 'integer'
  | 'bigint'
  | 'double precision'
  | 'boolean'
  | 'text'
  | 'timestamptz';

export interface Column<T> {
  readonly name: string;
  readonly type: SqlType;
  readonly of: (value: T) => Scalar;
  /** The same in a form that is quicker to read, where there is one: see `Encoder.encodeBriefly`. */
  readonly brief?: (value: T) => Scalar;
  /** What to make of an element that cannot travel in an array as it is. */
  readonly cast?: string;
  /** How to select it, when its own text form is not the one to parse. */
  readonly read?: (column: string) => string;
}

export interface Field<T> {
  readonly columns: readonly Column<T>[];
  readonly decode: (values: Values) => T;
}

export function column<T extends Scalar>(name: string, type: SqlType): Field<T> {
  return {
    columns: [{ name, type, of: (value) => value }],
    decode: (values) => values[name] as T,
  };
}

/** Null may stand for the word that most rows have. */
export function usually<T extends string>(name: string, usual: T): Field<T> {
  const read = (from: string): string => `coalesce(${from}, '${usual}')`;
  return {
    columns: [{ name, type: 'text', of: (value) => value, read }],
    decode: (values) => values[name] as T,
  };
}

/** A word from a fixed list, stored as its index. */
export function coded<T extends string>(name: string, words: readonly T[]): Field<T> {
  const numbers = new Map<string, number>(words.map((word, at) => [word, at]));
  return {
    columns: [{ name, type: 'smallint', of: (word) => numbers.get(word) ?? -1 }],
    decode: (values) => {
      const word = words[values[name] as number];
      invariant(word !== undefined, `no ${name} has the number ${String(values[name])}`);
      return word;
    },
  };
}

export function time<T extends Instant | null>(name: string): Field<T> {
  return {
    columns: [
      {
        ...{ name, type: 'timestamptz' },
        of: (at) => (at === null ? null : timeText(at)),
        brief: (at) => (at === null ? null : checkedTime(at)),
      },
    ],
    decode: (values) => values[name] as T,
  };
}

export function failure(): Field<TaskError | null> {
  return {
    columns: [
      { name: 'error_code', type: 'text', of: (error) => error?.code ?? null },
      { name: 'error_message', type: 'text', of: (error) => error?.message ?? null },
    ],
    decode: (values) =>
      values['error_code'] === null
        ? null
        : { code: values['error_code'] as string, message: values['error_message'] as string },
  };
}

/** An array inside an array of rows: its literal travels as text. */
export function list<T extends string | number>(
  name: string,
  type: 'integer' | 'text',
): Field<readonly T[]> {
  return {
    columns: [
      {
        name,
        type: 'text',
        of: (items) => literal(items, (item) => item),
        cast: `${type}[]`,
        read: (column) => `to_json(coalesce(${column}, '{}'))::text`,
      },
    ],
    decode: (values) => JSON.parse(values[name] as string) as T[],
  };
}

/** Rows to parameters: an array literal a column, or a null a column when there are no rows. */
export interface Encoder<Row> {
  readonly names: readonly string[];
  encode(rows: readonly Row[]): (string | null)[];
  /** The arguments of a function that takes an array a column, given their placeholders and that of the number of rows. */
  arguments(placeholders: readonly string[], count: string): readonly string[];
  /** What these placeholders stand for: a column whose values are all the same has one, and a time is its milliseconds.
   * PostgreSQL takes longer to read a row of texts than to store it. */
  encodeBriefly(rows: readonly Row[]): (string | null)[];
}

export class Codec<Row> implements Encoder<Row> {
  /** `shard` is not among them: it stands before them in every table. */
  readonly columns: readonly Column<Row>[];
  readonly #decoders: readonly (readonly [string, (values: Values) => unknown])[];

  /** `readers`: of rows that are many. */
  constructor(fields: { readonly [K in keyof Row]-?: Field<Row[K]> }, readers?: Readers<Row>) {
    const names = Object.keys(fields) as (keyof Row & string)[];
    this.columns = names.flatMap((name) => {
      const read = readers?.[name] ?? ((row: Row) => row[name]);
      return fields[name].columns.map(({ of, brief, ...part }) => ({
        ...part,
        of: (row: Row) => of(read(row)),
        ...(brief === undefined ? {} : { brief: (row: Row) => brief(read(row)) }),
      }));
    });
    this.#decoders = names.map((name) => [name, fields[name].decode]);
  }

  get names(): readonly string[] {
    return this.columns.map(({ name }) => name);
  }

  encode(rows: readonly Row[]): (string | null)[] {
    return encodeColumns(this.columns, rows);
  }

  arguments(placeholders: readonly string[], count: string): readonly string[] {
    return argumentsOf(this.columns, placeholders, count);
  }

  encodeBriefly(rows: readonly Row[]): (string | null)[] {
    return encodeBriefly(this.columns, rows);
  }

  /** Encodes some of the columns, in the codec's own order. */
  only(...wanted: readonly string[]): Encoder<Row> {
    return encoderOf(this.columns.filter(({ name }) => wanted.includes(name)));
  }

  /** For a select list. */
  read(alias: string): string {
    return this.columns
      .map(({ name, read }) => {
        const column = `${alias}.${name}`;
        return read === undefined ? column : `${read(column)} as ${name}`;
      })
      .join(', ');
  }

  decode(values: Values): Row {
    const row: Record<string, unknown> = {};
    for (const [name, decode] of this.#decoders) row[name] = decode(values);
    return row as Row;
  }
}

/** A list of bare values. */
export function single<T extends string | number>(name: string, type: SqlType): Encoder<T> {
  return encoderOf<T>([{ name, type, of: (value) => value }]);
}

export function encoderOf<Row>(columns: readonly Column<Row>[]): Encoder<Row> {
  const names = columns.map(({ name }) => name);
  return {
    names,
    encode: (rows) => encodeColumns(columns, rows),
    arguments: (placeholders, count) => argumentsOf(columns, placeholders, count),
    encodeBriefly: (rows) => encodeBriefly(columns, rows),
  };
}

function argumentsOf<Row>(
  columns: readonly Column<Row>[],
  placeholders: readonly string[],
  count: string,
): readonly string[] {
  return columns.map(({ type, brief }, at) => {
    const placeholder = placeholders[at] ?? '';
    const list =
      brief === undefined ? `${placeholder}::${type}[]` : `millrace.instants(${placeholder})`;
    return `millrace.each(${list}, ${count})`;
  });
}

function encodeBriefly<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
): (string | null)[] {
  if (rows.length === 0) return columns.map(() => null);
  return columns.map(({ name, type, of, brief = of }) => {
    const value = valueOfAll(rows, brief);
    const text = value === null ? literal(rows, brief) : `{${elementOf(value)}}`;
    if (type === 'text') refuseTorn(text, name);
    return text;
  });
}

/** Null when they differ. */
function valueOfAll<T>(items: readonly T[], of: (item: T) => Scalar): Scalar {
  const first = of(items[0] as T);
  for (const item of items) if (of(item) !== first) return null;
  return first;
}

function encodeColumns<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
): (string | null)[] {
  if (rows.length === 0) return columns.map(() => null);
  return columns.map(({ name, type, of }) => {
    const text = literal(rows, of);
    if (type === 'text') refuseTorn(text, name);
    return text;
  });
}

// Elements that hold nothing else need no quotes; most ids are of this kind.
const PLAIN = /^(?!null$)[A-Za-z0-9_.:@+=/-]+$/i;

/** Neighbours are often the same, a term or a time for example: then the text is made once. Joined, not
 * added up piece by piece: that would leave two more strings for each element to be thrown away. */
function literal<T>(items: readonly T[], of: (item: T) => Scalar): string {
  const elements: string[] = [];
  let last: Scalar = null;
  let element = 'NULL';
  let changes = 0;
  for (const item of items) {
    const value = of(item);
    if (value !== last) {
      last = value;
      element = elementOf(value);
      changes += 1;
    }
    elements.push(element);
  }
  // Side by side, a list that ends early goes on with nulls: one of nulls only need not be sent.
  return changes === 0 ? '{}' : `{${elements.join(',')}}`;
}

function elementOf(value: Scalar): string {
  if (value === null) return 'NULL';
  if (typeof value !== 'string') return String(value);
  return PLAIN.test(value) ? value : `"${value.replaceAll(/["\\]/g, '\\$&')}"`;
}

/** UTF-8 has no half surrogate pairs: the driver would write U+FFFD in their place and say nothing. */
function refuseTorn(text: string, column: string): void {
  if ((text as string & { isWellFormed(): boolean }).isWellFormed()) return;
  throw badRow(`a value of ${column}`, 'it contains an unpaired surrogate');
}

/** The times of a batch are few and close to each other: each is written out once, or nearly. */
const TIMES_KEPT = 256;
const times: { at: Instant; text: string }[] = [];

const INSTANT_MAX = 8_640_000_000_000_000;

/** Years beyond 9999 are `+010000` in JavaScript and `10000` in PostgreSQL. */
function timeText(at: Instant): string {
  const kept = times[at % TIMES_KEPT];
  if (kept?.at === at) return kept.text;
  const iso = new Date(checkedTime(at)).toISOString();
  const text = iso.startsWith('+') ? iso.slice(1) : iso;
  if (at >= 0) times[at % TIMES_KEPT] = { at, text };
  return text;
}

function checkedTime(at: Instant): Instant {
  if (Number.isInteger(at) && Math.abs(at) <= INSTANT_MAX) return at;
  throw badRow(`the time ${at}`, 'it is not a valid whole number of milliseconds');
}

const TIME = /^(\d+)(-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?)\+00$/;

export function parseTime(text: string): number {
  const [, year = '', day, hour] = TIME.exec(text) ?? [];
  const sameInBoth = year.length === 4 ? year : `+${year.padStart(6, '0')}`;
  const at = Date.parse(`${sameInBoth}${day}T${hour}Z`);
  invariant(Number.isSafeInteger(at), `PostgreSQL gave the time ${text}`);
  return at;
}

/** 64-bit numbers must fit a JavaScript number, or they are refused, not rounded. */
export function parseBigint(text: string): number {
  const value = Number(text);
  invariant(Number.isSafeInteger(value), `PostgreSQL gave the number ${text}`);
  return value;
}
