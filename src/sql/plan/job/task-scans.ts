/** Which files and rows of a table each task of a stage reads. */
import { MillraceError } from '../../../scheduler/core/index.ts';
import {
  byteRanges,
  filesOf,
  rowRanges,
  valueSpans,
  wholeFiles,
} from '../distribute/scan-splits.ts';
import type { Scan, ScanSplit, Stage } from '../physical/plan.ts';
import type { FileRange, PinnedFile, PinnedTable, ValueSpan } from '../physical/table.ts';

/** What one task reads of one table. */
export interface TaskScan {
  readonly ranges: readonly FileRange[];
  readonly span?: ValueSpan;
}

/** What each task reads of a table. Throws `bad_input` if the tables do not fit the plan. */
export function taskScans(
  tables: ReadonlyMap<string, PinnedTable>,
  scan: Scan,
  tasks: number,
): readonly TaskScan[] {
  const table = tables.get(scan.table);
  if (table === undefined) badPlan(`There is no table '${scan.table}'.`);
  const files = scan.files === null ? table.files : filesOf(table, scan.files);
  if (scan.files !== null && files.length !== new Set(scan.files).size)
    badPlan(`Table '${scan.table}' does not have all files that the plan names.`);
  const { lines } = table;
  if (scan.rows === 'own' && lines !== undefined && scan.reader.format === table.format)
    return byteRanges(files, tasks, lines.headerBytes).map((ranges) => ({ ranges }));
  if (scan.rows === 'own' && files.some(({ rows }) => rows === null))
    badPlan(`Table '${scan.table}' cannot be split: the number of rows in its files is not known.`);
  if (scan.split !== undefined) return splitByValue(table, files, scan, scan.split);
  if (scan.rows === 'own') return rowRanges(files, tasks, scan.cuts).map((ranges) => ({ ranges }));
  const all = { ranges: wholeFiles(files) };
  return Array.from({ length: tasks }, () => all);
}

function splitByValue(
  table: PinnedTable,
  files: readonly PinnedFile[],
  { columns }: Scan,
  split: ScanSplit,
): readonly TaskScan[] {
  const { source: name = '', type } = columns[split.column] ?? {};
  const refuse = (why: string): never =>
    badPlan(`Table '${table.name}' cannot be split by '${name}': ${why}.`, 'Leave out `split`.');
  const cluster = table.clusters?.find(({ column }) => column === name);
  if (cluster === undefined) return refuse('it is not a clustered column');
  // A cast could change values, which would then be in other files than the bounds say.
  const stored = table.columns.find((column) => column.name === name)?.type;
  if (type !== stored) return refuse(`it is ${stored}, not ${type}`);
  return valueSpans(table, files, cluster, split);
}

const NAME_TABLES = 'Name the tables of the plan in `tables`, or in the catalog.';

function badPlan(what: string, todo: string = NAME_TABLES): never {
  throw new MillraceError({ code: 'bad_input', what, todo });
}

/**
 * The first rows of a task's own share of a table. DuckDB reads the columns that only these rows need for these rows only,
 * but not below a UNION of several ranges.
 */
export function isTopOfShare(
  { tasks, fragment }: Stage,
  own: readonly { readonly ranges?: readonly unknown[] }[],
): boolean {
  const [scan, ...others] = fragment.scans;
  if (tasks === 1 || scan === undefined || others.length + fragment.inputs.length > 0) return false;
  const isShare = scan.rows === 'own' && scan.split === undefined && fragment.custom === undefined;
  return isShare && (own[0]?.ranges?.length ?? 0) > 1 && TOP_ROWS.test(fragment.sql);
}

const TOP_ROWS = /\bORDER BY [^;]*\nLIMIT \d+$/;

/** More values are written into a file at once: putting them into a table first costs a third more than that. */
const FEW_VALUES_MAX = 1_000_000;

/** Whether the rows of a result are not expected to be many. */
export function mayBeFew({ output, estimate, fragment }: Stage): boolean {
  const values = (estimate.rows ?? 0) * fragment.columns.length;
  return output.kind === 'result' && values <= FEW_VALUES_MAX;
}
