/**
 * Splits scans by the rows that a query needs, once the keys of the small tables are known that they are joined with
 * (`key-lookups.ts`). A row group with none of the keys costs next to nothing, because DuckDB skips it.
 */
import type { Fragment, LookedUp, QueryPlan, Scan, ScanSplit, Stage } from '../physical/plan.ts';
import type { Cluster, PinnedTable } from '../physical/table.ts';
import { taskOfValue } from './range-partitioning.ts';
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
  const found = lookups.flatMap(({ scans }, at) => {
    const own = keys[at] ?? null;
    return own === null ? [] : scans.map((scan) => ({ ...scan, found: own }));
  });
  if (found.length === 0) return plan;
  const costs = (stage: Stage, scan: Scan): Costs | null => {
    const table = tables.find(({ name }) => name === scan.table);
    const own = found.filter(
      ({ stage: id, relation }) => id === stage.id && relation === scan.relation,
    );
    return table === undefined ? null : { table, groups: costsOf(scan, table, own) };
  };
  return withBounds(withCuts(plan, costs), costs);
}

type Found = LookedUp & { readonly found: readonly number[] };

/** Of the row groups of a table, in order; null if nothing is known of what the query needs of them. */
interface Costs {
  readonly table: PinnedTable;
  readonly groups: readonly Group[] | null;
}

interface Group {
  readonly file: number;
  readonly rows: number;
  /** Of a row. */
  readonly cost: number;
}

type CostsOf = (stage: Stage, scan: Scan) => Costs | null;

function costsOf(
  scan: Scan,
  { clusters = [], ascending = [] }: PinnedTable,
  lookups: readonly Found[],
): readonly Group[] | null {
  if (scan.rows !== 'own') return null;
  const found = lookups.flatMap(({ column, found: keys }) => {
    const cluster = [...clusters, ...ascending].find((each) => each.column === column);
    return cluster === undefined ? [] : [byKeys(cluster, keys)];
  });
  const [first = null] = found;
  return (
    first?.map((group, at) => ({
      ...group,
      cost: Math.min(...found.map((each) => each[at]?.cost ?? 1)),
    })) ?? null
  );
}

function byKeys({ groups }: Cluster, keys: readonly number[]): readonly Group[] {
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

function mapScans(plan: QueryPlan, change: (scan: Scan, stage: Stage) => Scan): QueryPlan {
  const { stages, joins } = plan;
  const changed = (fragment: Fragment, stage: Stage): Fragment => ({
    ...fragment,
    scans: fragment.scans.map((scan) => change(scan, stage)),
  });
  return {
    ...plan,
    stages: stages.map((stage) => ({ ...stage, fragment: changed(stage.fragment, stage) })),
    ...(joins === undefined
      ? {}
      : {
          joins: joins.map((join) => ({
            ...join,
            // What it reads instead of the output of `probe` is what `probe` would have read.
            fragment: changed(join.fragment, stages[join.probe] as Stage),
          })),
        }),
  };
}

/** Splits by position. */
function withCuts(plan: QueryPlan, costs: CostsOf): QueryPlan {
  return mapScans(plan, (scan, stage) => {
    const { table, groups = null } = costs(stage, scan) ?? {};
    if (table === undefined || groups === null || scan.split !== undefined) return scan;
    const isRead = ({ file }: Group): boolean =>
      scan.files?.includes(table.files[file]?.path ?? '') ?? true;
    const read = groups.filter(isRead);
    const cuts = cutsOf(read, stage.tasks);
    const even = evenCuts(scan, table, stage.tasks);
    return largestShare(read, cuts) <= GAIN * largestShare(read, even) ? { ...scan, cuts } : scan;
  });
}

/** With about the same weight before, between and behind them. */
function cutsOf(groups: readonly Group[], tasks: number): readonly number[] {
  const total = weightOf(groups);
  const reach = (total / tasks) * SHIFT_SHARE;
  const cuts: number[] = [];
  let [passedRows, passed] = [0, 0];
  for (const { rows, cost } of groups) {
    const weight = rows * cost;
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

function weightOf(groups: readonly Group[]): number {
  return groups.reduce((sum, { rows, cost }) => sum + rows * cost, 0);
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
function largestShare(groups: readonly Group[], cuts: readonly number[]): number {
  let [largest, share, passedRows, at] = [0, 0, 0, 0];
  for (const { rows, cost } of groups) {
    let from = passedRows;
    passedRows += rows;
    while (at < cuts.length && (cuts[at] as number) < passedRows) {
      largest = Math.max(largest, share + cost * ((cuts[at] as number) - from));
      [share, from, at] = [0, cuts[at] as number, at + 1];
    }
    share += cost * (passedRows - from);
  }
  return Math.max(largest, share);
}

/** Splits by value: scans with the same bounds may be joined with each other, so they all get the same other ones. */
function withBounds(plan: QueryPlan, costs: CostsOf): QueryPlan {
  const splits = new Map<string, Piece[]>();
  const known = new Set<string>();
  mapScans(plan, (scan, stage) => {
    if (scan.split === undefined) return scan;
    const key = keyOf(scan.split);
    const { table, groups = null } = costs(stage, scan) ?? {};
    splits.set(key, [...(splits.get(key) ?? []), ...piecesOf(scan, table, groups)]);
    if (groups !== null) known.add(key);
    return scan;
  });
  const better = new Map(
    [...known].flatMap((key): [string, readonly number[]][] => {
      const bounds = JSON.parse(key) as readonly number[];
      const pieces = splits.get(key) ?? [];
      const balanced = boundsOf(pieces, bounds.length);
      if (balanced === null) return [];
      const pays = largestPart(pieces, balanced) <= GAIN * largestPart(pieces, bounds);
      return pays ? [[key, balanced]] : [];
    }),
  );
  return mapScans(plan, (scan) => {
    const bounds = scan.split === undefined ? undefined : better.get(keyOf(scan.split));
    return scan.split === undefined || bounds === undefined
      ? scan
      : { ...scan, split: { ...scan.split, bounds } };
  });
}

const keyOf = ({ bounds }: ScanSplit): string => JSON.stringify(bounds);

/** A row group by the values of the column that a scan is split by. */
interface Piece {
  readonly min: number;
  readonly max: number;
  readonly weight: number;
}

function piecesOf(
  { columns, split }: Scan,
  table: PinnedTable | undefined,
  groups: readonly Group[] | null,
): readonly Piece[] {
  const name = columns[split?.column ?? -1]?.source;
  const cluster = table?.clusters?.find(({ column }) => column === name);
  return (
    cluster?.groups.map(({ min, max, rows }, at) => ({
      ...{ min, max },
      weight: rows * (groups?.[at]?.cost ?? 1),
    })) ?? []
  );
}

/** Values at which row groups begin, with about the same weight between them; null if there are too few. */
function boundsOf(pieces: readonly Piece[], count: number): readonly number[] | null {
  const total = pieces.reduce((sum, { weight }) => sum + weight, 0);
  const bounds: number[] = [];
  let passed = 0;
  for (const { min, weight } of pieces.toSorted((a, b) => a.min - b.min)) {
    const wanted = (total * (bounds.length + 1)) / (count + 1);
    const isNext =
      passed + weight / 2 >= wanted && passed > 0 && min > (bounds.at(-1) ?? -Infinity);
    if (bounds.length < count && isNext) bounds.push(min);
    passed += weight;
  }
  return bounds.length === count ? bounds : null;
}

/** The largest weight between two neighbouring bounds. */
function largestPart(pieces: readonly Piece[], bounds: readonly number[]): number {
  const parts = Array.from({ length: bounds.length + 1 }, () => 0);
  for (const { min, max, weight } of pieces) {
    const [first, last] = [taskOfValue(bounds, min), taskOfValue(bounds, max)];
    for (let task = first; task <= last; task += 1) {
      const from = Math.max(min, bounds[task - 1] ?? min);
      const to = Math.min(max + 1, bounds[task] ?? max + 1);
      parts[task] = (parts[task] ?? 0) + (weight * (to - from)) / (max - min + 1);
    }
  }
  return Math.max(...parts);
}
