/**
 * Splits scans by the rows that a query needs, once the keys of the small tables are known that they are joined with
 * (`key-lookups.ts`). A row group with none of the keys costs next to nothing, because DuckDB skips it.
 */
import type { KeyLookup, QueryPlan, Scan, Stage } from '../physical/plan.ts';
import type { Cluster, PinnedTable } from '../physical/table.ts';
import { filesOf, rowRanges } from './scan-splits.ts';

/** What a row costs that is in a row group without any key, and one that is read but has none, where others cost 1. */
const SKIPPED = 0.01;
const LEFT_OUT = 0.2;
/** Rows are split in another way only if the largest share gets smaller by this. */
const GAIN = 0.9;
/** A cut moves to the end of a row group if that changes a share by no more than this. */
const SHIFT_SHARE = 0.25;

/** In ascending order; null if they are not known. */
type Keys = readonly number[] | null;

/** The plan without its lookups. `keys` are those that were found, in the order of the lookups. */
export function balanceScans(
  { lookups = [], ...plan }: QueryPlan,
  keys: readonly Keys[],
  tables: readonly PinnedTable[],
): QueryPlan {
  const found = lookups.flatMap((lookup, at) => {
    const own = keys[at] ?? null;
    return own === null ? [] : [{ ...lookup, found: own }];
  });
  if (found.length === 0) return plan;
  return {
    ...plan,
    stages: plan.stages.map((stage) => {
      const scans = stage.fragment.scans.map((scan) => {
        const own = found.filter(
          (each) => each.stage === stage.id && each.relation === scan.relation,
        );
        const table = tables.find(({ name }) => name === scan.table);
        return own.length === 0 || table === undefined ? scan : balanced(scan, stage, table, own);
      });
      return { ...stage, fragment: { ...stage.fragment, scans } };
    }),
  };
}

type Found = Pick<KeyLookup, 'column'> & { readonly found: readonly number[] };

function balanced(scan: Scan, { tasks }: Stage, table: PinnedTable, own: readonly Found[]): Scan {
  if (scan.rows !== 'own' || scan.split !== undefined || tasks === 1) return scan;
  const groups = weighed(scan, table, own);
  if (groups === null) return scan;
  const cuts = cutsOf(groups, tasks);
  const even = evenCuts(scan, table, tasks);
  return largestShare(groups, cuts) <= GAIN * largestShare(groups, even) ? { ...scan, cuts } : scan;
}

interface Weighed {
  readonly rows: number;
  readonly weight: number;
}

/** The row groups of the files that a scan reads, in order; null if nothing is known of them. */
function weighed(
  scan: Scan,
  table: PinnedTable,
  lookups: readonly Found[],
): readonly Weighed[] | null {
  const clusters = [...(table.clusters ?? []), ...(table.ascending ?? [])];
  const costs = lookups.flatMap(({ column, found }) => {
    const cluster = clusters.find((each) => each.column === column);
    return cluster === undefined ? [] : [costsOf(cluster, found)];
  });
  const [first] = costs;
  if (first === undefined) return null;
  const isRead = (file: number): boolean =>
    scan.files === null || scan.files.includes(table.files[file]?.path ?? '');
  return first.flatMap(({ file, rows }, at) => {
    const cost = Math.min(...costs.map((each) => each[at]?.cost ?? 1));
    return isRead(file) ? [{ rows, weight: rows * cost }] : [];
  });
}

/** What a row costs, by row group. */
function costsOf(
  { groups }: Cluster,
  keys: readonly number[],
): readonly { readonly file: number; readonly rows: number; readonly cost: number }[] {
  return groups.map(({ file, rows, min, max }) => {
    const within = placeOf(keys, max + 1) - placeOf(keys, min);
    const share = within / (max - min + 1);
    return { file, rows, cost: within === 0 ? SKIPPED : LEFT_OUT + (1 - LEFT_OUT) * share };
  });
}

/** The number of keys below a value, by binary search. */
function placeOf(keys: readonly number[], value: number): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((keys[middle] as number) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** With about the same weight before, between and behind them. */
function cutsOf(groups: readonly Weighed[], tasks: number): readonly number[] {
  const total = groups.reduce((sum, { weight }) => sum + weight, 0);
  const reach = (total / tasks) * SHIFT_SHARE;
  const cuts: number[] = [];
  let [passedRows, passed] = [0, 0];
  for (const { rows, weight } of groups) {
    for (;;) {
      const wanted = (total * (cuts.length + 1)) / tasks;
      if (cuts.length === tasks - 1 || wanted >= passed + weight) break;
      const [before, after] = [wanted - passed, passed + weight - wanted];
      const isNear = Math.min(before, after) <= reach;
      const share = isNear ? (before <= after ? 0 : 1) : before / weight;
      cuts.push(passedRows + Math.round(rows * share));
    }
    passed += weight;
    passedRows += rows;
  }
  while (cuts.length < tasks - 1) cuts.push(passedRows);
  return cuts;
}

/** Those of rows that are split by their number. */
function evenCuts({ files }: Scan, table: PinnedTable, tasks: number): readonly number[] {
  const read = files === null ? table.files : filesOf(table, files);
  const cuts: number[] = [];
  let passed = 0;
  for (const ranges of rowRanges(read, tasks).slice(0, -1)) {
    passed += ranges.reduce((sum, { from, to, rows }) => sum + (to ?? rows ?? 0) - (from ?? 0), 0);
    cuts.push(passed);
  }
  return cuts;
}

/** The largest weight between two neighbouring cuts. */
function largestShare(groups: readonly Weighed[], cuts: readonly number[]): number {
  let [largest, share, passedRows, at] = [0, 0, 0, 0];
  for (const { rows, weight } of groups) {
    let [from, left] = [passedRows, weight];
    passedRows += rows;
    while (at < cuts.length && (cuts[at] as number) < passedRows) {
      const part = (weight * ((cuts[at] as number) - from)) / rows;
      largest = Math.max(largest, share + part);
      [share, left, from, at] = [0, left - part, cuts[at] as number, at + 1];
    }
    share += left;
  }
  return Math.max(largest, share);
}
