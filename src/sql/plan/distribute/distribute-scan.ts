/**
 * Distributes scans: range-partitioned by a clustered column, split by row position, or, for small tables, read in
 * full by every task.
 */
import type { Expression } from '../logical/expression.ts';
import type { InputRelation, Relation, ScanRelation } from '../logical/relation.ts';
import { Undistributable } from '../logical/undistributable.ts';
import type { PinnedTable } from '../physical/table.ts';
import { RangePartitioning } from './range-partitioning.ts';
import { scanPartitioning, type Draft, type LeafRange, type ScanLeaf } from './draft.ts';
import type { Subplan } from './subplan.ts';
import { filesOf } from './scan-splits.ts';
import { project } from './relations.ts';
import { column } from './expressions.ts';
import {
  RANDOM,
  REPLICATED,
  SINGLE,
  throughProjection,
  type Partitioning,
} from './partitioning.ts';
import type { DistributeSettings } from './settings.ts';
import {
  ofSome,
  rowBytes,
  storedStats,
  unknownStats,
  type ColumnStats,
  type Source,
} from './column-stats.ts';

/** DuckDB's own estimate of a filter's selectivity. */
const FILTER_SHARE = 0.2;
/** Bytes of Parquet per byte of CSV or JSON text. */
export const TEXT_SHARE = 0.3;

export function distributeScan(
  given: ScanRelation,
  draft: Draft,
  tables: readonly PinnedTable[],
  settings: DistributeSettings,
): Subplan {
  if (given.hasRowPlaces) throw new Undistributable('it reads the position of rows in their files');
  const table = tableOf(given, tables);
  const scan = table.lines === undefined ? given : underOwnNames(given, table);
  const size = scanSize(scan, table);
  const hasRows = table.format === 'parquet' && table.files.every(({ rows }) => rows !== null);
  const canDivide = hasRows || table.lines !== undefined;
  const isSmall =
    settings.replicateBytes > 0 &&
    size.bytes <= settings.replicateBytes &&
    size.scanned <= settings.replicateRows;
  const partitioning: Partitioning =
    draft.partitions === 1 ? SINGLE : isSmall ? REPLICATED : canDivide ? RANDOM : SINGLE;
  const isPartitioned = partitioning.kind === 'random';
  const split = isPartitioned ? splitOf(scan, table, draft.partitions) : null;
  const leaf: ScanLeaf = { kind: 'scan', scan, table, isPartitioned, split };
  const name = draft.addScan(leaf);
  const columns = scan.keep.map((at) => size.columns[at] as ColumnStats);
  return {
    relation: readScan(scan, name),
    partitioning: isPartitioned
      ? throughProjection(scanPartitioning(leaf), keptColumns(scan))
      : partitioning,
    rows: size.rows,
    columns: scan.filters.length > 0 ? ofSome(columns) : columns,
    nonDeterministic: null,
    isOneRow: false,
    scan: canDivide && partitioning.kind !== 'single' ? name : null,
    stage: null,
  };
}

/** DuckDB has planned over rows that stand for those of the files. */
function underOwnNames(scan: ScanRelation, table: PinnedTable): ScanRelation {
  return { ...scan, names: table.columns.map(({ name }) => name) };
}

/**
 * The range partitioning of a scan by a clustered column that it reads; null if there is none. Operators by that
 * column then need no exchange.
 */
function splitOf(scan: ScanRelation, table: PinnedTable, parts: number): LeafRange | null {
  const paths = new Set(pathsOf(scan, table));
  for (const { column: name, groups } of table.clusters ?? []) {
    const place = scan.columns.findIndex((at) => at !== null && scan.names[at] === name);
    if (place < 0) continue;
    const read = groups.filter(({ file }) => paths.has(table.files[file]?.path ?? ''));
    const range = RangePartitioning.of(read, parts);
    if (range !== null) return { column: place, range };
  }
  return null;
}

function keptColumns(scan: ScanRelation): readonly Expression[] {
  return scan.keep.map((at) => column(at, scan.types[scan.columns[at] ?? 0] as Expression['type']));
}

/** The scan as an operator over a named relation that has exactly the columns it reads. */
function readScan(scan: ScanRelation, name: string): Relation {
  const output = scan.columns.map((place) => scan.types[place ?? 0] as (typeof scan.types)[number]);
  const leaf: InputRelation = { kind: 'input', relation: name, output, rows: scan.rows };
  const filtered: Relation =
    scan.filters.length === 0
      ? leaf
      : { kind: 'filter', input: leaf, conditions: scan.filters, output, rows: scan.rows };
  const isAll = scan.keep.length === output.length && scan.keep.every((at, place) => at === place);
  if (isAll) return filtered;
  return project(filtered, keptColumns(scan));
}

interface ScanSize {
  readonly rows: number;
  /** Of everything that is read, before any filter. */
  readonly bytes: number;
  readonly columns: readonly ColumnStats[];
  /** Rows before any filter. */
  readonly scanned: number;
}

function scanSize(scan: ScanRelation, table: PinnedTable): ScanSize {
  const files = filesOf(table, pathsOf(scan, table));
  const share = files.length / Math.max(1, table.files.length);
  const fileBytes = files.reduce((sum, { bytes }) => sum + bytes, 0);
  const known = files.every(({ rows }) => rows !== null);
  const guess = scan.rows ?? Math.max(1, fileBytes / 64);
  const all = known ? files.reduce((sum, { rows }) => sum + (rows ?? 0), 0) : guess;
  const source = { rows: all / share || 1 };
  const columns = scan.columns.map((place) => columnStats(scan, table, place, source));
  const estimate = scan.rows ?? all * FILTER_SHARE ** scan.filters.length;
  const bytes = table.format === 'parquet' ? all * rowBytes(columns) : fileBytes * TEXT_SHARE;
  return { rows: Math.min(estimate, all), scanned: all, bytes, columns };
}

function columnStats(
  scan: ScanRelation,
  table: PinnedTable,
  place: number | null,
  source: Source,
): ColumnStats {
  const type = scan.types[place ?? 0] as ScanRelation['types'][number];
  const name = scan.names[place ?? 0];
  const stored = table.columns.find((each) => each.name === name);
  if (place === null) return unknownStats(type);
  const { clusters = [], ascending = [] } = table;
  const isInOrder = [...clusters, ...ascending].some((each) => each.column === name);
  return storedStats(type, stored, source, isInOrder);
}

/**
 * The table that a scan's list of files belongs to. The list may be incomplete: DuckDB leaves out Hive folders that
 * cannot contain a matching row.
 */
export function tableOf(scan: ScanRelation, tables: readonly PinnedTable[]): PinnedTable {
  const found = tables.find((table) => {
    if (scan.table !== null) return table.name === scan.table;
    if (table.format !== 'parquet') return false;
    const paths = new Set(table.files.map(({ path }) => path));
    const names = new Set(table.columns.map(({ name }) => name));
    return (
      scan.files.every((file) => paths.has(file)) && scan.names.every((name) => names.has(name))
    );
  });
  if (found === undefined)
    throw new Undistributable('it reads files that belong to no table of the query');
  return found;
}

/** The paths that a scan reads. */
export function pathsOf(scan: ScanRelation, table: PinnedTable): readonly string[] {
  return scan.table === null ? scan.files : table.files.map(({ path }) => path);
}

/** The rows a scan reads, before any filter. */
export function scanRows({ scan, table }: ScanLeaf): number {
  return scanSize(scan, table).scanned;
}

/** The same of a scan that is not distributed yet. */
export function scannedRows(scan: ScanRelation, tables: readonly PinnedTable[]): number {
  return scanSize(scan, tableOf(scan, tables)).scanned;
}

/** The bytes a scan reads, before any filter. */
export function scanBytes(scan: ScanRelation, tables: readonly PinnedTable[]): number {
  return scanSize(scan, tableOf(scan, tables)).bytes;
}
