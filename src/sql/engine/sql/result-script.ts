/**
 * A result whose rows may be few is put into a table first. Few rows are read from there as JSON, which is a third of the
 * work of writing a Parquet file and reading it again. The JSON of plain types has all of their values, so such rows need no
 * file; `restoredRows` makes rows of it again.
 */
import { decoded, encoded, parseType, quotedName, quotedText } from '../../plan/index.ts';
import type { FragmentColumn, ResultColumn, SqlType } from '../../plan/index.ts';
import type { RowsMax } from '../engine.ts';
import type { ResultRows, ResultValues } from '../messages.ts';
import { jsonText, NUMBERS, PLAIN_STRINGS } from './json-text.ts';
import { rowOf } from './relation.ts';

/** Of the rows in JSON. */
const TIME_ZONE = 'UTC';
const NAME = quotedName('millrace result');
const TABLE = `temp.${NAME}`;

/** Numbers that JavaScript has as such. */
const WIDE: ReadonlySet<string> = new Set(['BIGINT', 'UBIGINT', 'HUGEINT', 'UHUGEINT']);
/** As text they may be as long as they like. */
const LONG_STRINGS: ReadonlySet<string> = new Set(['BIT', 'BIGNUM']);
/** DuckDB cannot read all that it writes of them. */
const TIMES: ReadonlySet<string> = new Set(['TIMESTAMP WITH TIME ZONE', 'INTERVAL']);
const OTHERS: ReadonlySet<string> = new Set(['FLOAT', 'DOUBLE', 'VARCHAR', 'BLOB']);

/** Whether `restored` makes the value again from its JSON. */
function isPlain({ id }: SqlType): boolean {
  return NUMBERS.has(id) || PLAIN_STRINGS.has(id) || OTHERS.has(id);
}

export interface ResultQuery {
  /** The query with this list of expressions over `c0`, `c1`, ... */
  readonly select: (list: readonly string[]) => string;
  /** Writes a query into the file. */
  readonly copy: (query: string) => string;
}

export function resultRows(
  columns: readonly FragmentColumn[],
  max: RowsMax,
  { select, copy }: ResultQuery,
): ResultRows {
  const types = columns.map(({ type }) => parseType(type));
  // Other types are in the table as they would be in a file.
  const kept = types.map((type, at) =>
    isPlain(type)
      ? `CAST(c${at} AS ${type.sql}) AS c${at}`
      : `${encoded(type, `c${at}`)} AS c${at}`,
  );
  const written = types.map((type, at) =>
    isPlain(type) ? `${encoded(type, `c${at}`)} AS c${at}` : `c${at}`,
  );
  return {
    ...max,
    create: `CREATE TEMP TABLE ${NAME} AS\n${select(kept)}`,
    columns: types.map((type, at) => jsonValues(type, `c${at}`)),
    table: TABLE,
    timeZone: TIME_ZONE,
    copy: copy(`SELECT ${rowOf(written)} FROM ${TABLE}`),
    isWhole: types.length > 0 && types.every(isPlain),
  };
}

function jsonValues(type: SqlType, name: string): ResultValues {
  const { id } = type;
  if (NUMBERS.has(id)) return { form: 'plain', sql: name, isLong: false };
  if (WIDE.has(id)) return { form: 'quoted', sql: name, isLong: false };
  if (PLAIN_STRINGS.has(id)) {
    const form = TIMES.has(id) ? 'time' : 'quoted';
    return { form, sql: `CAST(${name} AS VARCHAR)`, isLong: LONG_STRINGS.has(id) };
  }
  if (id === 'DOUBLE') return { form: 'number', sql: name, isLong: false };
  // JavaScript would show a FLOAT with all digits of a DOUBLE.
  if (id === 'FLOAT') return { form: 'number', sql: `CAST(${name} AS VARCHAR)`, isLong: false };
  if (id === 'VARCHAR') return { form: 'text', sql: name, isLong: true };
  const value = isPlain(type) ? name : decoded(type, name);
  return { form: 'json', sql: jsonText(type, value), isLong: true };
}

/** A query for rows of which only the JSON is there. They are in a text, because a statement cannot have a NUL character. */
export function restoredRows(columns: readonly Pick<ResultColumn, 'type'>[], rows: string): string {
  const list = columns.map(({ type }, at) => {
    const parsed = parseType(type);
    const text = `(r ->> ${at})`;
    return `${parsed.id === 'BLOB' ? `from_base64(${text})` : `CAST(${text} AS ${parsed.sql})`} AS c${at}`;
  });
  return `SELECT ${rowOf(list)} FROM (SELECT unnest(CAST(${quotedText(rows)} AS JSON[])) AS r)`;
}
