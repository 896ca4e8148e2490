/** The relations that a fragment reads, each as a query with the columns `c0`, `c1`, ... */
import {
  decoded,
  nullOf,
  parseType,
  type ExchangeInput,
  type FileRange,
  type Scan,
  type ValueSpan,
  quotedName,
} from '../../plan/index.ts';
import { isOn, readOptions } from './options.ts';
import { readerCall } from './reader.ts';

/** Our own files have no Hive keys, whatever the folders above them are called. */
const OWN_FILES = 'hive_partitioning = false';

/** The rows of a scan; with a span only those in its range of values. */
export function scanQuery(scan: Scan, ranges: readonly FileRange[], span?: ValueSpan): string {
  if (span === undefined) return rowsOf(scan, ranges);
  const mixed = new Set(span.mixed);
  const whole = ranges.filter(({ path }) => !mixed.has(path));
  const others = ranges.filter(({ path }) => mixed.has(path));
  if (others.length === 0) return rowsOf(scan, whole);
  const read = scanFiles(scan, paths(others), cardinality(scan, others), '');
  const within = `SELECT * FROM (${read}) WHERE ${boundsOf(span).join(' AND ')}`;
  return whole.length === 0 ? within : `${rowsOf(scan, whole)}\nUNION ALL\n${within}`;
}

/** DuckDB estimates that a scan with any number of filters returns a fifth of its rows. */
const FILTERED_SHARE = 5;

/**
 * A condition that chooses the rows of a task would count as a filter of the query, and joins would build on the wrong side. So the
 * reader states as many rows as leave those of the files. Joins are then ordered as for the whole query, which is what their
 * other estimates are made for.
 */
function cardinality({ filtered }: Scan, ranges: readonly FileRange[]): string {
  const rows = ranges.reduce((sum, range) => sum + (range.rows ?? 0), 0);
  return filtered === true || rows === 0 ? '' : `explicit_cardinality = ${FILTERED_SHARE * rows}`;
}

function paths(ranges: readonly FileRange[]): readonly string[] {
  return ranges.map(({ path }) => path);
}

/** A filter, for files that have values on both sides of a bound. */
function boundsOf({ column, from, to }: ValueSpan): readonly string[] {
  const above = from === null ? [] : [`c${column} >= ${from}`];
  return to === null ? above : [...above, `c${column} < ${to}`];
}

function rowsOf(scan: Scan, ranges: readonly FileRange[]): string {
  const branches: string[] = [];
  const whole = ranges.filter(({ from }) => from === null);
  if (whole.length > 0) branches.push(scanFiles(scan, paths(whole), '', ''));
  for (const range of ranges) {
    if (range.from === null) continue;
    const bounds = rowBoundsOf(range);
    const where = bounds.length === 0 ? '' : ` WHERE ${bounds.join(' AND ')}`;
    // As an option rather than as the virtual column: it is refused where a file has such a column itself.
    const numbered = ['file_row_number = true', where === '' ? '' : cardinality(scan, [range])];
    branches.push(scanFiles(scan, [range.path], joined(numbered), where));
  }
  if (branches.length === 0) return emptyQuery(scan.columns.map(({ type }) => type));
  return branches.join('\nUNION ALL\n');
}

/** The ends of the file bound nothing, but every row would be compared with them. */
function rowBoundsOf({ from, to, rows }: FileRange): string[] {
  const above = from === null || from === 0 ? [] : [`file_row_number >= ${from}`];
  return to === null || to === rows ? above : [...above, `file_row_number < ${to}`];
}

function scanFiles(
  { reader, columns }: Scan,
  files: readonly string[],
  further: string,
  where: string,
): string {
  const options = joined([reader.options, further]);
  const read = readerCall(reader.format, files, options);
  const list = columns.map(
    ({ source, type }, at) => `CAST(${quotedName(source)} AS ${type}) AS c${at}`,
  );
  const from = isOn(readOptions(options), 'union_by_name')
    ? `(SELECT ${columns.map(({ source, type }) => `${nullOf(parseType(type))} AS ${quotedName(source)}`).join(', ')} WHERE false
        UNION ALL BY NAME SELECT * FROM ${read})`
    : read;
  return `SELECT ${rowOf(list)} FROM ${columns.length === 0 ? read : from}${where}`;
}

function joined(options: readonly string[]): string {
  return options.filter((each) => each !== '').join(', ');
}

export function exchangeQuery({ columns }: ExchangeInput, files: readonly string[]): string {
  if (files.length === 0) return emptyQuery(columns.map(({ type }) => type));
  const list = columns.map(({ name, type }, at) => `${decoded(type, quotedName(name))} AS c${at}`);
  return `SELECT ${rowOf(list)} FROM ${readerCall('parquet', files, OWN_FILES)}`;
}

/** No cast can name the type of an unnamed row. */
function emptyQuery(types: readonly string[]): string {
  return `SELECT ${rowOf(types.map((type, at) => `${nullOf(parseType(type))} AS c${at}`))} WHERE false`;
}

/** SQL has no rows without columns; where only their number counts, there is a placeholder column. */
export function rowOf(list: readonly string[]): string {
  return list.length === 0 ? 'true AS c0' : list.join(', ');
}
