/** Splits a table between tasks: every row is in exactly one split. */
import type { ScanSplit } from '../physical/plan.ts';
import type { Cluster, FileRange, PinnedFile, PinnedTable, ValueSpan } from '../physical/table.ts';
import { taskOfValue } from './range-partitioning.ts';

/**
 * A split boundary moves to the end of a row group if that changes a task's share by no more than this. A row group
 * with a boundary inside is read by two tasks.
 */
const SHIFT_SHARE = 0.125;

/** All rows of these files. */
export function wholeFiles(files: readonly PinnedFile[]): readonly FileRange[] {
  return files.map((file) => rangeOf(file, null, null));
}

/** Returns `count` lists of ranges with about as many rows each, or from one of these cuts to the next. A list may be empty. */
export function rowRanges(
  files: readonly PinnedFile[],
  count: number,
  cuts?: readonly number[],
): readonly (readonly FileRange[])[] {
  const counted = files.map((file) => ({ file, rows: rowsOf(file) }));
  const total = counted.reduce((sum, { rows }) => sum + rows, 0);
  const bounds =
    cuts === undefined
      ? rowBounds(
          counted.map(({ file }) => file),
          total,
          count,
        )
      : // The table may have fewer rows than the one that the plan was made for.
        [0, ...cuts.map((cut) => Math.min(cut, total)), total];
  return bounds.slice(0, -1).map((from, at) => between(counted, from, bounds[at + 1] as number));
}

/** The same for text files, in bytes: a task reads the lines that begin in its ranges, and no header. */
export function byteRanges(
  files: readonly PinnedFile[],
  count: number,
  headerBytes: number,
): readonly (readonly FileRange[])[] {
  const counted = files.map((file) => ({ ...file, rows: file.bytes, groups: [] }));
  return rowRanges(counted, count).map((ranges) =>
    ranges.map((range) => {
      const { from, to, bytes } = range;
      if (from === null && headerBytes === 0) return { ...range, rows: null };
      const [first, last] = [from ?? 0, to ?? bytes].map((at) => Math.max(at, headerBytes));
      return { ...range, rows: null, from: first as number, to: last as number };
    }),
  );
}

interface CountedFile {
  readonly file: PinnedFile;
  readonly rows: number;
}

function rowsOf({ rows, groups }: PinnedFile): number {
  return rows ?? groups.reduce((sum, group) => sum + group, 0);
}

/** The row at which each list begins, counted over the whole table, and the end of the last one. */
function rowBounds(files: readonly PinnedFile[], total: number, count: number): readonly number[] {
  const ends = groupEnds(files);
  const reach = (total / count) * SHIFT_SHARE;
  const bounds = [0];
  for (let at = 1; at < count; at += 1) {
    const ideal = Math.round((total * at) / count);
    const end = nearest(ends, ideal);
    const bound = Math.abs(end - ideal) <= reach ? end : ideal;
    bounds.push(Math.max(bound, bounds[at - 1] as number));
  }
  bounds.push(total);
  return bounds;
}

function groupEnds(files: readonly PinnedFile[]): readonly number[] {
  const ends = [0];
  let passed = 0;
  for (const file of files) {
    for (const group of file.groups) {
      passed += group;
      ends.push(passed);
    }
    if (file.groups.length === 0) {
      passed += rowsOf(file);
      ends.push(passed);
    }
  }
  return ends;
}

/** Binary search, because a table may have many row groups. */
function nearest(sorted: readonly number[], wanted: number): number {
  let low = 0;
  let high = sorted.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] as number) < wanted) low = middle + 1;
    else high = middle;
  }
  const above = sorted[low] ?? 0;
  const below = sorted[low - 1] ?? above;
  return wanted - below < above - wanted ? below : above;
}

function between(files: readonly CountedFile[], from: number, to: number): readonly FileRange[] {
  const ranges: FileRange[] = [];
  let passed = 0;
  for (const { file, rows } of files) {
    const first = Math.max(from - passed, 0);
    const last = Math.min(to - passed, rows);
    if (first < last) {
      const isAll = first === 0 && last === rows;
      ranges.push(isAll ? rangeOf(file, null, null) : rangeOf(file, first, last));
    }
    passed += rows;
  }
  return ranges;
}

function rangeOf(file: PinnedFile, from: number | null, to: number | null): FileRange {
  const { path, bytes, mtimeNs, footer, rows } = file;
  return { path, bytes, mtimeNs, footer, rows, from, to };
}

/** For each task of a range-partitioned scan: the files it reads, and the values it takes from them. */
export function valueSpans(
  table: PinnedTable,
  files: readonly PinnedFile[],
  { groups }: Cluster,
  { column, bounds }: ScanSplit,
): readonly SplitRanges[] {
  const parts = Array.from({ length: bounds.length + 1 }, () => ({
    paths: new Set<string>(),
    rows: 0,
  }));
  const chosen = new Set(files.map(({ path }) => path));
  for (const { file, rows, min, max } of groups) {
    const path = table.files[file]?.path ?? '';
    if (!chosen.has(path)) continue;
    for (const part of parts.slice(taskOfValue(bounds, min), taskOfValue(bounds, max) + 1)) {
      part.paths.add(path);
      part.rows += rows;
    }
  }
  const isMixed = (path: string): boolean =>
    parts.filter(({ paths }) => paths.has(path)).length > 1;
  return parts.map(({ paths, rows }, task) => {
    const read = files.filter(({ path }) => paths.has(path));
    const [from, to] = [bounds[task - 1] ?? null, bounds[task] ?? null];
    const mixed = read.map(({ path }) => path).filter(isMixed);
    return { ranges: wholeFiles(read), span: { column, from, to, mixed, rows } };
  });
}

/** What one task reads of a range-partitioned table. */
export interface SplitRanges {
  readonly ranges: readonly FileRange[];
  readonly span: ValueSpan;
}

/** The files of a table that a scan reads, in the order of the table. */
export function filesOf(table: PinnedTable, paths: readonly string[]): readonly PinnedFile[] {
  const chosen = new Set(paths);
  return table.files.filter(({ path }) => chosen.has(path));
}
