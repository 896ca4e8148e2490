/**
 * The physical plan: a documented, versioned JSON format (`docs/plan-format.md`). The leader makes it once, when a
 * query is submitted; workers run it as written and derive nothing themselves.
 */
import type { PinnedTable } from './table.ts';

/** The newest version that this code reads and runs. */
export const PLAN_VERSION = 4;

export type PlanVersion = 2 | 3 | typeof PLAN_VERSION;

/**
 * The version of a task that reads the rows of some producers only of a partition. No plan has it: whether there is such a task is
 * decided when the producers have ended.
 */
export const SPLIT_VERSION = 5;

/** The lowest version that has everything in it: during an upgrade, older nodes can run what they know. */
export function versionOf(stages: readonly Pick<Stage, 'fragment' | 'output'>[]): PlanVersion {
  if (stages.some(({ output, fragment }) => output.kind === 'range' || fragment.scans.some(isCut)))
    return 4;
  return stages.some(({ fragment }) => fragment.custom !== undefined) ? 3 : 2;
}

/** A text file of which each task reads its own lines. */
function isCut({ rows, reader }: Scan): boolean {
  return rows === 'own' && reader.format !== 'parquet';
}

export interface QueryPlan {
  readonly version: PlanVersion;
  /** The version of DuckDB that the fragments are made for; another one may hash and cast differently. */
  readonly duckdb: string;
  readonly sql: string;
  /** Of the result, as the user sees them. */
  readonly columns: readonly ResultColumn[];
  /** The rows of the result have an order. If the last stage has several tasks, their rows follow one another. */
  readonly ordered: boolean;
  /** The number of partitions, which is the number of tasks of every partitioned stage. */
  readonly partitions: number;
  /** Why the whole query is one fragment; null if it is distributed. */
  readonly single: string | null;
  /** Producers before consumers: the id of a stage is its index. The last stage produces the result. */
  readonly stages: readonly Stage[];
  /** Bound at submit, so that every task and every attempt sees the same values. */
  readonly session: SessionValues;
  /**
   * EXPLAIN ANALYZE: readers of the result get the explanation of the finished query instead of its rows, and
   * `columns` are those of the explanation. No submitted plan has it.
   */
  readonly analyze?: true;
  /**
   * Small neighbouring partitions may be read by one task, see `adapt/`. Absent if every task reads one partition. No
   * submitted plan has it: nothing is known of how its stages depend on partitions.
   */
  readonly coalesce?: Coalescing;
  /**
   * Scans that are filtered by the keys of another stage's output, see `adapt/`. Absent for none. No submitted plan has
   * it: nothing is known of which rows its fragments need.
   */
  readonly filters?: readonly RuntimeFilter[];
  /**
   * Joins that may run in another way when the size of one side is known, see `adapt/`. Absent for none. No submitted plan
   * has it: nothing is known of the joins in its fragments.
   */
  readonly joins?: readonly AdaptiveJoin[];
  /** Only until the fragments are bound. Then the leader has looked the values up, and split the scans by them. */
  readonly lookups?: readonly KeyLookup[];
  /** The folders that a node must be able to read. */
  readonly roots: readonly string[];
}

export interface Coalescing {
  /** About what a task should read. */
  readonly targetBytes: number;
  /** Absent if no partition is split. */
  readonly skew?: SkewLimits;
}

/** When a partition is too large for one task. */
export interface SkewLimits {
  /** More than so many times the median of all partitions. */
  readonly factor: number;
  /** A smaller partition is never split. */
  readonly minBytes: number;
}

export interface SessionValues {
  readonly timeZone: string;
  /** The value of `now()`, as DuckDB writes a TIMESTAMPTZ in UTC. */
  readonly now: string;
}

export interface ResultColumn {
  readonly name: string;
  /** As DuckDB writes it, so that it can be used in a cast. */
  readonly type: string;
}

export interface Stage {
  readonly id: number;
  /** A short description for people. */
  readonly title: string;
  readonly tasks: number;
  readonly fragment: Fragment;
  readonly output: StageOutput;
  readonly estimate: Estimate;
  /** For EXPLAIN: the operators, outermost first, indented by depth. */
  readonly operators: readonly string[];
  /** Why a second run may return other rows; null if it returns the same ones. */
  readonly nonDeterministic: string | null;
  /** Custom operators that a node must have to run the tasks. */
  readonly requires: readonly string[];
  /**
   * Relations of partitions that may be split: several tasks may each read some producers' rows of a partition, if all of
   * them read that partition of every other input in full. Absent if there are none. No submitted plan has it.
   */
  readonly splits?: readonly string[];
}

export interface Estimate {
  readonly rows: number | null;
  readonly bytes: number | null;
}

/** SQL over named relations. */
export interface Fragment {
  /**
   * A query whose columns are `c0`, `c1`, ...; for a query that runs as a single fragment (`tables`) the user's own
   * SQL.
   */
  readonly sql: string;
  readonly columns: readonly FragmentColumn[];
  readonly scans: readonly Scan[];
  readonly inputs: readonly ExchangeInput[];
  /** Views that a query in a single fragment needs, under the user's names. Empty for all other fragments. */
  readonly tables: readonly PinnedTable[];
  /** Since version 3. Runs first; `sql` reads what it returns as the relation `custom`, with the columns `c0`, `c1`, ... */
  readonly custom?: CustomCall;
}

/** A call of a custom operator. */
export interface CustomCall {
  readonly op_name: string;
  /** A relation of the fragment, or a query over its relations: the operator sees its columns by name. */
  readonly input: string;
  /** JSON. */
  readonly params: Readonly<Record<string, unknown>>;
}

/** The relation that holds what a custom operator returns. */
export const CUSTOM_RELATION = 'custom';

export interface FragmentColumn {
  /** `c0`, `c1`, ... */
  readonly name: string;
  /** The logical type, as DuckDB writes it: the reader undoes what Parquet makes of it. */
  readonly type: string;
}

/**
 * The columns of a table under the name `relation`, as `c0`, `c1`, ... in this order. The input of each task says
 * which files and rows it reads.
 */
export interface Scan {
  readonly relation: string;
  /** The name that the user gave it. */
  readonly table: string;
  /** Paths, if not all files of the table are read. */
  readonly files: readonly string[] | null;
  /** `own`: each task reads its own share of the rows. `all`: every task reads all of them. */
  readonly rows: 'own' | 'all';
  /** With `own`: range-partitions the rows by a column. If absent, rows are split by their position in the files. */
  readonly split?: ScanSplit;
  /**
   * With `own` and without `split`: where the rows of each task but the first begin, counted over all files that the scan reads. If
   * absent, each task has about as many rows.
   */
  readonly cuts?: readonly number[];
  /** The fragment filters this relation by single columns, which DuckDB does while it scans. Only for its estimates. */
  readonly filtered?: true;
  readonly reader: ScanReader;
  readonly columns: readonly ScanColumn[];
}

/**
 * Task 0 reads rows whose value is below the first bound, task i those from bound i - 1 up to but not including bound
 * i. The column has no NULL.
 */
export interface ScanSplit {
  /** Its index in `columns`. */
  readonly column: number;
  /** One fewer than there are tasks, in ascending order. */
  readonly bounds: readonly number[];
}

export interface ScanColumn {
  /** Its name in the files. */
  readonly source: string;
  /** The type that the whole table has: in some of the files it may be another one. */
  readonly type: string;
}

export interface ScanReader {
  readonly format: 'parquet' | 'csv' | 'json';
  /** Further arguments of the reader function, as SQL: `hive_partitioning = true, union_by_name = true`. */
  readonly options: string;
}

/**
 * Rows of a scan whose value in a column is not among those of a column of another stage's output are not needed: a join
 * further up would drop them. So the tasks of `stage` wait for those of `keys.stage`, and may leave these rows out.
 */
export interface RuntimeFilter {
  readonly stage: number;
  /** A scan of the stage's fragment. */
  readonly relation: string;
  /** Its index in the columns of the scan. */
  readonly column: number;
  /** Of both columns, as DuckDB writes it. */
  readonly type: string;
  /** For people: `lineitem.l_partkey`. */
  readonly name: string;
  readonly keys: { readonly stage: number; readonly column: number };
  /** A NULL is needed if there is one among the keys: the join compares with IS NOT DISTINCT FROM. */
  readonly matchesNull: boolean;
}

/** Rows of these scans are not needed if their value in the column is not one that a query finds in a small table. */
export interface KeyLookup {
  /** It has one column, and reads a single scan. */
  readonly keys: { readonly sql: string; readonly type: string; readonly scan: Scan };
  readonly scans: readonly LookedUp[];
}

export interface LookedUp {
  readonly stage: number;
  /** A scan of the stage's fragment. */
  readonly relation: string;
  /** The name of the column in the files. */
  readonly column: string;
}

/**
 * The tasks of `probe` wait for those of `build`. If all rows of `build` are small, `probe` does not run, and each task of
 * `stage` runs `fragment` instead of its own: it reads what the task of `probe` with its number would have read, and all rows
 * of `build`.
 */
export interface AdaptiveJoin {
  readonly stage: number;
  readonly build: number;
  readonly probe: number;
  readonly fragment: Fragment;
  /** The input of `fragment` that has all rows of `build`. */
  readonly relation: string;
  readonly thresholdBytes: number;
  /** What `probe` would exchange, as estimated: it is not saved at any price. Null if that does not count. */
  readonly probeBytes: number | null;
}

/** The output of another stage under the name `relation`. */
export interface ExchangeInput {
  readonly relation: string;
  readonly stage: number;
  /**
   * `partition`: task i reads partition i of every producer. `all`: every task reads everything. `forward`: task i
   * reads the output of producer i.
   */
  readonly mode: 'partition' | 'all' | 'forward';
  readonly columns: readonly FragmentColumn[];
}

export type StageOutput =
  /** Each row goes to partition `(hash(by...) >> 24) % partitions`; `by` is SQL over `c0`, `c1`, ... */
  | { readonly kind: 'hash'; readonly by: readonly string[]; readonly partitions: number }
  /**
   * Since version 4. Each row goes to partition `by`, a whole number from 0: SQL over `c0`, `c1`, ... A reader may
   * rely on it that the rows of a partition come before those of the next in some order.
   */
  | { readonly kind: 'range'; readonly by: string; readonly partitions: number }
  /** One partition with all rows. */
  | { readonly kind: 'whole' }
  /** One partition that the user reads; a small one is kept in the store. */
  | { readonly kind: 'result' };
