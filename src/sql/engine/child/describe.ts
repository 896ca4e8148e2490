/**
 * Describes tables: the columns of their files, and the reader options with which any subset of the files is read in
 * the same way.
 */
import { createHash } from 'node:crypto';
import { quotedName, quotedText } from '../../plan/index.ts';
import type { DuckDBInstance } from '@duckdb/node-api';
import type { DescribeCall } from '../messages.ts';
import type { TableDescription, TableSource } from '../engine.ts';
import {
  isOn,
  type ReaderOption,
  readOptions,
  typeMap,
  withOptions,
  withoutOptions,
  writeOptions,
} from '../sql/options.ts';
import { quotedPath, readerCall } from '../sql/reader.ts';
import type { Instances } from './instances.ts';
import { csvLines, jsonLines } from './splittable-text.ts';
import { parquetFacts } from './parquet-facts.ts';
import { unlessGone } from './sandbox.ts';
import { type Connection, Failed, type Work } from './work.ts';

interface Column {
  readonly name: string;
  readonly type: string;
}

/** Runs in an instance that is locked to the files of the table, because its types and options are text from a user. */
export async function described(
  work: Work,
  instances: Instances,
  { source }: DescribeCall,
): Promise<TableDescription> {
  const { files } = source;
  // Nobody else's: no other files are open to what the user wrote.
  const kind = `describe ${createHash('sha256').update(JSON.stringify(files)).digest('base64')}`;
  const { instance, release } = await instances.take({ kind, files });
  try {
    return await describeTable(work, instance, source);
  } catch (error) {
    throw unlessGone(error, files, 'table_missing');
  } finally {
    release();
  }
}

export async function describeTable(
  work: Work,
  instance: DuckDBInstance,
  source: TableSource,
): Promise<TableDescription> {
  const connection = await work.connect(instance, 'describe');
  await connection.run(`SET TimeZone = 'UTC'`);
  const inferred = await inferredColumns(connection, source);
  const { options, hiveKeys } = await pinnedOptions(connection, source, inferred);
  const select = selectOf(source, inferred, writeOptions(options));
  const columns = await describeQuery(connection, select);
  if (source.format !== 'parquet') {
    return {
      columns: columns.map((column) => ({ ...column, bytes: null })),
      files: source.files.map(() => ({ rows: null, groups: [] })),
      clusters: [],
      options: writeOptions(options),
      select,
      ...(await linesOf(connection, source, { columns, options, hiveKeys })),
    };
  }
  const { files } = source;
  const facts = await parquetFacts(connection, { files, columns, options, hiveKeys });
  return {
    columns: columns.map((column) => {
      const distinct = facts.distinctOf(column.name);
      const bytes = facts.bytesOf(column.name);
      const range = facts.rangeOf(column.name);
      return {
        ...{ ...column, bytes },
        ...(distinct === undefined ? {} : { distinct }),
        ...(range === undefined ? {} : { range }),
      };
    }),
    files: facts.files,
    clusters: facts.clusters,
    ascending: facts.ascending,
    options: writeOptions(options),
    select,
  };
}

/** Hive keys are in the path of a file, and a copy of its lines has another path. */
async function linesOf(
  connection: Connection,
  { format, files, options: given }: TableSource,
  { columns, options, hiveKeys }: Pinned & { readonly columns: readonly Column[] },
): Promise<Pick<TableDescription, 'lines'>> {
  if (given !== '' || hiveKeys.size > 0) return {};
  const lines =
    format === 'json'
      ? await jsonLines(files, options)
      : await csvLines(connection, files, columns, options);
  return lines === null ? {} : { lines };
}

async function describeQuery(connection: Connection, query: string): Promise<Column[]> {
  const rows = await connection.texts(`DESCRIBE ${query}`);
  return rows.map(([name, type]) => ({ name: String(name), type: String(type) }));
}

async function inferredColumns(connection: Connection, source: TableSource): Promise<Column[]> {
  const options = writeOptions(withOptions(readOptions(source.options), wantedTypes(source)));
  const columns = await describeQuery(
    connection,
    `SELECT * FROM ${readerCall(source.format, source.files, options)}`,
  );
  const names = new Set(columns.map(({ name }) => name.toLowerCase()));
  for (const name of Object.keys(source.types)) {
    if (names.has(name.toLowerCase())) continue;
    const known = columns.map((column) => column.name).join(', ');
    throw new Failed({
      code: 'schema_mismatch',
      what: `The files have no column "${name}".`,
      why: `Their columns are ${known}.`,
    });
  }
  return columns;
}

/** A given type decides how text is parsed: cast from a number, `007` would become `7`. */
function wantedTypes({ format, types }: TableSource): ReaderOption[] {
  if (format !== 'csv' || Object.keys(types).length === 0) return [];
  const columns = Object.entries(types).map(([name, type]) => ({ name, type }));
  return [{ name: 'types', value: typeMap(columns) }];
}

const TYPE_OPTIONS: ReadonlySet<string> = new Set(['types', 'dtypes', 'column_types']);

interface Pinned {
  readonly options: readonly ReaderOption[];
  /** Columns that come from the path, in lower case. */
  readonly hiveKeys: ReadonlySet<string>;
}

async function pinnedOptions(
  connection: Connection,
  source: TableSource,
  columns: readonly Column[],
): Promise<Pinned> {
  const given = readOptions(source.options);
  const hive = hiveOptions(source.files, given, columns);
  const options = [...withoutOptions(given, hive.replaced), ...hive.options];
  const pinned = (own: readonly ReaderOption[]): Pinned => ({ options: own, hiveKeys: hive.keys });
  if (source.format === 'parquet') return pinned(options);
  const inFiles = typed(source, columns).filter(({ name }) => !hive.keys.has(name.toLowerCase()));
  if (source.format === 'json')
    return pinned(withOptions(options, [{ name: 'columns', value: typeMap(inFiles) }]));
  const dialect = await csvDialect(connection, source.files[0] ?? '', given);
  const own = given.some(({ name }) => name === 'columns')
    ? options
    : [...withoutOptions(options, TYPE_OPTIONS), { name: 'types', value: typeMap(inFiles) }];
  return pinned(withOptions(own, dialect));
}

function typed({ types }: TableSource, columns: readonly Column[]): Column[] {
  const wanted = new Map(Object.entries(types).map(([name, type]) => [name.toLowerCase(), type]));
  return columns.map(({ name, type }) => ({ name, type: wanted.get(name.toLowerCase()) ?? type }));
}

interface HiveOptions {
  /** In lower case. */
  readonly keys: ReadonlySet<string>;
  /** The options that these replace. */
  readonly replaced: ReadonlySet<string>;
  readonly options: readonly ReaderOption[];
}

const HIVE: ReadonlySet<string> = new Set([
  'hive_partitioning',
  'hive_types',
  'hive_types_autocast',
]);

/** A subset of the files could appear to have other Hive keys, or keys of another type, than all of them. */
function hiveOptions(
  files: readonly string[],
  given: readonly ReaderOption[],
  columns: readonly Column[],
): HiveOptions {
  const asGiven = { keys: new Set<string>(), replaced: new Set<string>(), options: [] };
  const said = given.find(({ name }) => name === 'hive_partitioning');
  if (said !== undefined && !isOn(given, 'hive_partitioning')) return asGiven;
  const keysOf = (file: string): string[] =>
    [...file.matchAll(/([^\\/=]+)=[^\\/]*(?=[\\/])/g)].map(([, key]) => String(key).toLowerCase());
  const keys = new Set(keysOf(files[0] ?? ''));
  if (keys.size > 0 && files.every((file) => same(keysOf(file), keys))) {
    const ofPath = columns.filter(({ name }) => keys.has(name.toLowerCase()));
    const options = [
      { name: 'hive_partitioning', value: 'true' },
      { name: 'hive_types', value: typeMap(ofPath) },
    ];
    return { keys, replaced: HIVE, options };
  }
  const isInDoubt = said === undefined && files.some((file) => keysOf(file).length > 0);
  return isInDoubt
    ? { ...asGiven, options: [{ name: 'hive_partitioning', value: 'false' }] }
    : asGiven;
}

function same(keys: readonly string[], others: ReadonlySet<string>): boolean {
  return keys.length === others.size && keys.every((key) => others.has(key));
}

/** Options for several files, which `sniff_csv` does not accept. */
const OF_SEVERAL: ReadonlySet<string> = new Set([
  'union_by_name',
  'filename',
  'files_to_sniff',
  'hive_partitioning',
  'hive_types',
  'hive_types_autocast',
]);

/** A subset of the files could be taken for another dialect. What the first file does not show is left open. */
async function csvDialect(
  connection: Connection,
  file: string,
  given: readonly ReaderOption[],
): Promise<ReaderOption[]> {
  const options = writeOptions(withoutOptions(given, OF_SEVERAL));
  const rows = await connection.texts(
    `SELECT Delimiter, Quote, HasHeader::VARCHAR, DateFormat, TimestampFormat
     FROM sniff_csv(${quotedPath(file)}${options === '' ? '' : `, ${options}`})`,
  );
  const [delim, quote, header, dateformat, timestampformat] = rows[0] ?? [];
  const found: ReaderOption[] = [];
  const add = (name: string, value: string | null | undefined): void => {
    if (value === null || value === undefined || value === '' || value === '(empty)') return;
    found.push({ name, value: name === 'header' ? value : quotedText(value) });
  };
  add('delim', delim);
  add('quote', quote);
  add('header', header);
  add('dateformat', dateformat);
  add('timestampformat', timestampformat);
  const isSeparated = given.some(({ name }) => name === 'sep' || name === 'delimiter');
  return isSeparated ? found.filter(({ name }) => name !== 'delim') : found;
}

/** Parquet has types of its own, so those of the catalog become casts. */
function selectOf(source: TableSource, columns: readonly Column[], options: string): string {
  const from = readerCall(source.format, source.files, options);
  if (source.format !== 'parquet' || Object.keys(source.types).length === 0)
    return `SELECT * FROM ${from}`;
  const wanted = new Map(
    Object.entries(source.types).map(([name, type]) => [name.toLowerCase(), type]),
  );
  const list = columns.map(({ name }) => {
    const type = wanted.get(name.toLowerCase());
    const column = quotedName(name);
    return type === undefined ? column : `CAST(${column} AS ${type}) AS ${column}`;
  });
  return `SELECT ${list.join(', ')} FROM ${from}`;
}
