/** Statistics from the footers of Parquet files: rows, row groups, bytes, and the minimum and maximum values. */
import { quotedText } from '../../plan/index.ts';
import type { Cluster, ClusterGroup, TableColumn } from '../../plan/index.ts';
import type { TableDescription } from '../engine.ts';
import { isOn, type ReaderOption } from '../sql/options.ts';
import { fileList } from '../sql/reader.ts';
import { checkNames, columnsInFiles, storedColumns } from './parquet-columns.ts';
import type { Connection } from './work.ts';

interface ParquetSource {
  readonly files: readonly string[];
  /** Of the table. */
  readonly columns: readonly NamedColumn[];
  readonly options: readonly ReaderOption[];
  /** Columns that come from the path, in lower case. */
  readonly hiveKeys: ReadonlySet<string>;
}

type NamedColumn = Pick<TableColumn, 'name' | 'type'>;

interface Facts extends Pick<TableDescription, 'files' | 'clusters'> {
  readonly ascending: readonly Cluster[];
  bytesOf(column: string): number;
  /** The approximate number of distinct values; undefined if the footers do not tell. */
  distinctOf(column: string): number | undefined;
  /** The least and the greatest value of a column of whole numbers; undefined if the footers do not tell. */
  rangeOf(column: string): readonly [number, number] | undefined;
}

export async function parquetFacts(connection: Connection, source: ParquetSource): Promise<Facts> {
  const { files, columns, options, hiveKeys } = source;
  // A table may contain a file twice.
  const once = [...new Set(files)];
  const alike = await columnsInFiles(connection, once);
  if (!isOn(options, 'union_by_name')) checkNames(alike, columns);
  // Files that have such a column cannot be read by row number.
  const isNumbered = alike.some((each) =>
    each.columns.some(({ name }) => name === 'file_row_number'),
  );
  const stored = storedColumns(alike, columns, hiveKeys);
  const bounds = boundsOf(stored);
  const facts = await factsByName(connection, files, bounds);
  const clustered = isNumbered ? [] : clusteredColumns(stored, facts);
  const ascending = isNumbered ? [] : ascendingColumns(stored, facts, clustered);
  const groups = await groupsByFile(connection, once, bounds, [...clustered, ...ascending]);
  const clustersOf = (columns: readonly NamedColumn[], first: number): readonly Cluster[] =>
    columns.flatMap((column, at) => clusterOf(column, first + at, files, groups) ?? []);
  return {
    files: files.map((file) => {
      const rows = groups.get(file)?.rows;
      if (isNumbered || rows === undefined) return { rows: null, groups: [] };
      return { rows: rows.reduce((sum, each) => sum + each, 0), groups: rows };
    }),
    clusters: clustersOf(clustered, 0),
    ascending: clustersOf(ascending, clustered.length),
    bytesOf: (column) => facts.get(column.toLowerCase())?.bytes ?? 0,
    distinctOf: (column) => facts.get(column.toLowerCase())?.distinct,
    rangeOf: (column) => {
      const isWhole = stored.some(({ name, type }) => name === column && !DATES.has(type));
      return isWhole ? facts.get(column.toLowerCase())?.range : undefined;
    },
  };
}

/** The minimum and maximum of a row group as integers, in SQL; NULL if not known. */
interface Bounds {
  readonly low: string;
  readonly high: string;
}

const SIGNED: ReadonlySet<string> = new Set(['TINYINT', 'SMALLINT', 'INTEGER', 'BIGINT']);
const UNSIGNED: ReadonlySet<string> = new Set(['UTINYINT', 'USMALLINT', 'UINTEGER', 'UBIGINT']);
const DATES: ReadonlySet<string> = new Set(['DATE']);

/**
 * Older writers set only `min` and `max`, which compare unsigned numbers as signed ones. A date is its number of
 * days.
 */
function boundsOf(columns: readonly NamedColumn[]): Bounds {
  const bound = (old: string, value: string): string => {
    const either = `coalesce(${value}, ${old})`;
    const cases = [
      ...caseOf(columns, SIGNED, `TRY_CAST(${either} AS HUGEINT)`),
      ...caseOf(columns, UNSIGNED, `TRY_CAST(${value} AS HUGEINT)`),
      ...caseOf(columns, DATES, `TRY_CAST(${either} AS DATE) - DATE '1970-01-01'`),
    ];
    const text = ['WHEN row_group_num_rows = 0 THEN NULL', ...cases].join('\n');
    return `(CASE ${text} END)::HUGEINT`;
  };
  return {
    low: bound('stats_min', 'stats_min_value'),
    high: bound('stats_max', 'stats_max_value'),
  };
}

function caseOf(
  columns: readonly NamedColumn[],
  types: ReadonlySet<string>,
  value: string,
): readonly string[] {
  const names = columns.filter(({ type }) => types.has(type)).map(({ name }) => pathText(name));
  if (names.length === 0) return [];
  return [`WHEN lower(path_in_schema) IN (${names.join(', ')}) THEN ${value}`];
}

function pathText(name: string): string {
  return quotedText(name.toLowerCase());
}

interface ColumnFacts {
  readonly bytes: number;
  readonly distinct: number | undefined;
  readonly range: readonly [number, number] | undefined;
  /**
   * How many times the value ranges of the row groups overlap on average, from 1 for not at all; undefined if a row
   * group has no statistics, or numbers beyond JavaScript's range.
   */
  readonly layers: number | undefined;
  /** Whether no row group has a NULL, as far as the footers tell. */
  readonly isWithoutNull: boolean;
  /** Row groups with rows. */
  readonly groups: number;
}

/**
 * `path_in_schema` lists the parts of a nested column. A row group has a distinct count only if it has a dictionary;
 * groups with the same range are assumed to have the same values.
 */
async function factsByName(
  connection: Connection,
  files: readonly string[],
  { low, high }: Bounds,
): Promise<ReadonlyMap<string, ColumnFacts>> {
  const rows = await connection.texts(
    `SELECT lower(split_part(path_in_schema, ', ', 1)), sum(total_compressed_size)::VARCHAR,
       CASE WHEN count(*) > count(stats_distinct_count) OR count(DISTINCT path_in_schema) > 1 THEN NULL
         WHEN count(DISTINCT (stats_min_value, stats_max_value)) = 1 THEN max(stats_distinct_count)
         ELSE sum(stats_distinct_count) END::VARCHAR,
       CASE WHEN count(DISTINCT path_in_schema) = 1
         AND bool_and(row_group_num_rows = 0 OR coalesce(stats_null_count = num_values, false)
           OR coalesce(low <= high, false))
         THEN max(high) - min(low) + 1 END::VARCHAR,
       CASE WHEN bool_and(row_group_num_rows = 0 OR coalesce(
           low >= ${Number.MIN_SAFE_INTEGER} AND high <= ${Number.MAX_SAFE_INTEGER}, false))
         THEN sum(high - low + 1) END::VARCHAR,
       bool_and(row_group_num_rows = 0 OR coalesce(stats_null_count = 0, false))::VARCHAR,
       (count(*) FILTER (WHERE row_group_num_rows > 0))::VARCHAR, min(low)::VARCHAR, max(high)::VARCHAR
     FROM (SELECT *, ${low} AS low, ${high} AS high FROM parquet_metadata(${fileList(files)}))
     GROUP BY 1`,
  );
  return new Map(
    rows.map(([name, bytes, counted, width, widths, whole, groups, least, greatest]) => {
      const distinct = Math.min(knownOr(counted, Infinity), knownOr(width, Infinity));
      const layers = Math.max(1, knownOr(widths, NaN) / knownOr(width, NaN));
      const facts = {
        bytes: Number(bytes),
        distinct: distinct === Infinity ? undefined : distinct,
        // The width is known only if the bounds of all row groups are.
        range: width === null ? undefined : safeRange(Number(least), Number(greatest)),
        layers: Number.isNaN(layers) ? undefined : layers,
        isWithoutNull: whole === 'true',
        groups: Number(groups),
      };
      return [String(name), facts];
    }),
  );
}

function safeRange(least: number, greatest: number): readonly [number, number] | undefined {
  return Number.isSafeInteger(least) && Number.isSafeInteger(greatest)
    ? [least, greatest]
    : undefined;
}

function knownOr(text: string | null | undefined, otherwise: number): number {
  return text === null || text === undefined ? otherwise : Number(text);
}

const CLUSTERS_MAX = 3;
const GROUPS_MAX = 20_000;
const LAYERS_MAX = 2;
/** Of a column that only ascends in the long run, at most one row group in so many has a value, on average. */
const GROUPS_A_LAYER = 4;

/** The clustered columns, best ones first. */
function clusteredColumns(
  columns: readonly NamedColumn[],
  facts: ReadonlyMap<string, ColumnFacts>,
): readonly NamedColumn[] {
  return inOrder(columns, facts, ({ type }, { isWithoutNull, groups, layers }) => {
    // Two row groups overlap at most twice, clustered or not.
    const layersMax = Math.min(LAYERS_MAX, (groups + 1) / 2);
    return isWithoutNull && isWhole(type) && layers <= layersMax;
  });
}

/** Those by which rows cannot be split: they have NULL, are not numbers, or only ascend in the long run. */
function ascendingColumns(
  columns: readonly NamedColumn[],
  facts: ReadonlyMap<string, ColumnFacts>,
  clustered: readonly NamedColumn[],
): readonly NamedColumn[] {
  return inOrder(columns, facts, (column, { groups, layers }) => {
    const layersMax = Math.max(Math.min(LAYERS_MAX, (groups + 1) / 2), groups / GROUPS_A_LAYER);
    const may = DATES.has(column.type) || isWhole(column.type);
    return may && layers <= layersMax && !clustered.includes(column);
  });
}

function isWhole(type: string): boolean {
  return SIGNED.has(type) || UNSIGNED.has(type);
}

function inOrder(
  columns: readonly NamedColumn[],
  facts: ReadonlyMap<string, ColumnFacts>,
  may: (column: NamedColumn, facts: ColumnFacts & { readonly layers: number }) => boolean,
): readonly NamedColumn[] {
  const found = columns.flatMap((column) => {
    const known = facts.get(column.name.toLowerCase());
    const { layers = Infinity, groups = 0 } = known ?? {};
    if (known === undefined || groups < 2 || groups > GROUPS_MAX) return [];
    return may(column, { ...known, layers }) ? [{ column, layers }] : [];
  });
  return found
    .toSorted((one, other) => one.layers - other.layers)
    .slice(0, CLUSTERS_MAX)
    .map(({ column }) => column);
}

interface FileGroups {
  readonly rows: readonly number[];
  /** For each requested column, the minimum and maximum of each row group. */
  readonly bounds: readonly (readonly (readonly [low: number | null, high: number | null])[])[];
}

async function groupsByFile(
  connection: Connection,
  files: readonly string[],
  { low, high }: Bounds,
  clustered: readonly NamedColumn[],
): Promise<ReadonlyMap<string, FileGroups>> {
  const list = fileList(files);
  const paths = clustered.map(({ name }) => `lower(path_in_schema) = ${pathText(name)}`);
  const pairs = paths.map(
    // Rows that the filter excludes are cast too, among them those of the first column.
    (is, at) => `, to_json(list(TRY_CAST([${low}, ${high}] AS BIGINT[]) ORDER BY row_group_id)
         FILTER (WHERE ${is}))::VARCHAR AS bounds${at}`,
  );
  const rows = await connection.texts(
    `SELECT f.file_name, g.* EXCLUDE (file_name)
     FROM parquet_file_metadata(${list}) AS f
     LEFT JOIN (
       SELECT file_name, to_json(list(row_group_num_rows ORDER BY row_group_id)
         FILTER (WHERE column_id = 0))::VARCHAR AS groups${pairs.join('')}
       FROM parquet_metadata(${list}) WHERE ${['column_id = 0', ...paths].join(' OR ')}
       GROUP BY file_name
     ) AS g ON g.file_name = f.file_name`,
  );
  const listOf = <T>(text: string | null | undefined): T[] => JSON.parse(text ?? '[]') as T[];
  return new Map(
    rows.map(([file, groups, ...bounds]) => {
      return [String(file), { rows: listOf(groups), bounds: bounds.map((each) => listOf(each)) }];
    }),
  );
}

/** Returns null if a row group has no statistics after all. */
function clusterOf(
  { name }: NamedColumn,
  place: number,
  files: readonly string[],
  known: ReadonlyMap<string, FileGroups>,
): Cluster | null {
  const groups: ClusterGroup[] = [];
  for (const [file, path] of files.entries()) {
    const facts = known.get(path);
    if (facts === undefined) return null;
    for (const [at, rows] of facts.rows.entries()) {
      if (rows === 0) continue;
      const [min = null, max = null] = facts.bounds[place]?.[at] ?? [];
      if (min === null || max === null) return null;
      groups.push({ file, rows, min, max });
    }
  }
  return { column: name, groups };
}
