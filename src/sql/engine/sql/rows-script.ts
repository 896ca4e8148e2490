/** Writes the SQL that returns a result in the requested format. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { parseType, quotedName, quotedText } from '../../plan/index.ts';
import type { ResultColumn, SqlType } from '../../plan/index.ts';
import type { ResultPart, RowsRequest } from '../engine.ts';
import type { RowsCall, SandboxLink } from '../messages.ts';
import { copiedText } from './copied-text.ts';
import { jsonText } from './json-text.ts';
import { linksIn } from './links.ts';
import { exchangeQuery } from './relation.ts';
import { restoredRows } from './result-script.ts';

/** The default time zone of results. */
const UTC = 'UTC';

/** `place` is the engine's own folder, into which the files are linked. */
export function rowsCall(request: RowsRequest, place: string): RowsCall {
  const links: SandboxLink[] = [];
  const parts = request.parts.map((part) => {
    if (typeof part !== 'string') return part;
    const [link] = linksIn(place, [part]) as [SandboxLink];
    links.push(link);
    return link.as;
  });
  return {
    name: 'rows',
    sandbox: { files: [], links },
    timeZone: request.timeZone ?? UTC,
    source: sourceOf({ ...request, parts }, join(place, `${randomUUID()}.tmp`)),
  };
}

function sourceOf(
  { parts, columns, format, rowCount }: RowsRequest,
  file: string,
): RowsCall['source'] {
  const rows = resultQuery(columns, parts);
  const types = columns.map(({ type }) => parseType(type));
  const from = ` FROM (${rows}) AS r`;
  /** Each row is `values` and `end`, and a line break follows it: behind the last one only without a separator. */
  const text = (
    values: readonly Part[],
    { end = '', separator = '', head = '', tail = '' },
  ): RowsCall['source'] => {
    const lines = `SELECT ${concat(values, `${end}${separator}`)}${from}`;
    const cutBytes = separator === '' ? 0 : `${separator}\n`.length;
    const [between, after] = separator === '' ? ['', `${end}\n`] : [`${separator}\n`, end];
    const sql = `SELECT ${concat(values, after)}${from}`;
    const copied =
      rowCount === undefined ? null : copiedText({ lines, cutBytes, types, rows, rowCount, file });
    return { kind: 'text', sql, head, separator: between, tail, copied };
  };
  switch (format) {
    case 'json': {
      const names = columns.map(({ name, type }) => ({ name, type }));
      const head = `{"columns":${JSON.stringify(names)},"rows":[`;
      const values = types.map((type, at): Part => [
        at === 0 ? '[' : ',',
        jsonText(type, `c${at}`),
      ]);
      return text(values, { end: ']', separator: ',', head, tail: ']}\n' });
    }
    case 'ndjson': {
      const names = uniqueNames(columns).map((name) => JSON.stringify(name));
      const values = types.map((type, at): Part => [
        `${at === 0 ? '{' : ','}${names[at]}:`,
        jsonText(type, `c${at}`),
      ]);
      return text(values, { end: '}' });
    }
    case 'csv': {
      const values = types.map((type, at): Part => [at === 0 ? '' : ',', csvText(type, `c${at}`)]);
      const head = columns.map(({ name }) => csvField(name)).join(',');
      return text(values, { head: `${head}\n` });
    }
    case 'parquet': {
      const names = uniqueNames(columns);
      const list = types.map(
        (type, at) => `${exported(type, `c${at}`)} AS ${quotedName(names[at] ?? '')}`,
      );
      const copy = `COPY (SELECT ${list.join(', ')}${from}) TO ${quotedText(file)} (FORMAT parquet)`;
      return { kind: 'file', copy, file };
    }
  }
}

/** In the order of the parts; what lies side by side in files is read as one. */
function resultQuery(
  columns: readonly Pick<ResultColumn, 'type'>[],
  parts: readonly ResultPart[],
): string {
  const named = columns.map(({ type }, at) => ({ name: `c${at}`, type }));
  const ofFiles = (files: readonly string[]): string =>
    exchangeQuery({ relation: '', stage: 0, mode: 'all', columns: named }, files);
  const queries: string[] = [];
  let files: string[] = [];
  for (const part of parts) {
    if (typeof part === 'string') {
      files.push(part);
      continue;
    }
    if (files.length > 0) queries.push(ofFiles(files));
    files = [];
    queries.push(restoredRows(columns, part.json));
  }
  if (files.length > 0 || queries.length === 0) queries.push(ofFiles(files));
  return queries.join('\nUNION ALL\n');
}

type Part = readonly [before: string, value: string];

/** Concatenates without an intermediate copy for each `||`. */
function concat(parts: readonly Part[], after: string): string {
  const all = parts.flatMap(([before, value]) =>
    before === '' ? [value] : [quotedText(before), value],
  );
  return `concat(${[...all, ...(after === '' ? [] : [quotedText(after)])].join(', ')})`;
}

/** Types whose text never contains a comma, a quote or a line break. */
const BARE: ReadonlySet<string> = new Set([
  'BOOLEAN',
  'TINYINT',
  'SMALLINT',
  'INTEGER',
  'BIGINT',
  'HUGEINT',
  'UTINYINT',
  'USMALLINT',
  'UINTEGER',
  'UBIGINT',
  'UHUGEINT',
  'BIGNUM',
  'FLOAT',
  'DOUBLE',
  'DECIMAL',
  'DATE',
  'TIME',
  'TIMESTAMP',
  'TIMESTAMP WITH TIME ZONE',
  'UUID',
]);

/** NULL is empty, and an empty string is `""`. */
function csvText({ id }: SqlType, value: string): string {
  const said = `CAST(${value} AS VARCHAR)`;
  if (BARE.has(id)) return `coalesce(${said}, '')`;
  return `CASE WHEN ${value} IS NULL THEN '' WHEN ${said} = '' OR regexp_matches(${said}, '[",\\r\\n]')
    THEN '"' || replace(${said}, '"', '""') || '"' ELSE ${said} END`;
}

function csvField(name: string): string {
  return name === '' || /[",\r\n]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name;
}

/** Names that differ in more than letter case: `a`, `a_1`, ... */
function uniqueNames(columns: readonly ResultColumn[]): string[] {
  const taken = new Set<string>();
  return columns.map(({ name }) => {
    let unique = name;
    for (let n = 1; taken.has(unique.toLowerCase()); n += 1) unique = `${name}_${n}`;
    taken.add(unique.toLowerCase());
    return unique;
  });
}

/** DuckDB writes the widest integers to Parquet as floating-point numbers, and no infinity in seconds. */
function exported(type: SqlType, value: string): string {
  // Via text, because infinities cannot be cast between these two types.
  if (type.id === 'TIMESTAMP_S') return `CAST(CAST(${value} AS VARCHAR) AS TIMESTAMP)`;
  const wanted = exportedType(type);
  return wanted === type.sql ? value : `CAST(${value} AS ${wanted})`;
}

function exportedType(type: SqlType): string {
  const { id, sql, children = [], names = [] } = type;
  const inner = children.map(exportedType);
  if (id === 'HUGEINT') return 'DECIMAL(38,0)';
  if (id === 'UHUGEINT' || id === 'BIGNUM') return 'VARCHAR';
  if (inner.every((each, at) => each === children[at]?.sql)) return sql;
  switch (id) {
    case 'LIST':
      return `${inner[0]}[]`;
    case 'ARRAY':
      return `${inner[0]}[${type.size}]`;
    case 'MAP':
      return `MAP(${inner.join(', ')})`;
    case 'STRUCT':
      return `STRUCT(${inner.map((each, at) => `${quotedName(names[at] ?? '')} ${each}`).join(', ')})`;
    default:
      return sql;
  }
}
