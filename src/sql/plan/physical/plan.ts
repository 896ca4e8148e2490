/**
 * The physical plan: a documented, versioned JSON format (`docs/plan-format.md`). It is made once, when a query
 * is submitted; workers execute what stands in it and derive nothing themselves.
 */
import type { PinnedTable } from './table.ts';

export const PLAN_VERSION = 2;

export interface QueryPlan {
  readonly version: typeof PLAN_VERSION;
  /** The version of DuckDB that the fragments are made for; another one may hash and cast otherwise. */
  readonly duckdb: string;
  readonly sql: string;
  /** Of the result, as the user sees them. */
  readonly columns: readonly ResultColumn[];
  /** The rows of the result have an order; then the last stage has one task. */
  readonly ordered: boolean;
  /** Into how many parts data is divided: the number of tasks of every divided stage. */
  readonly partitions: number;
  /** Why the whole query is one fragment; null when it is distributed. */
  readonly single: string | null;
  /** Producers before consumers: a stage's id is its place. The last one makes the result. */
  readonly stages: readonly Stage[];
  /** Bound at submit, so that every task and every attempt sees the same. */
  readonly session: SessionValues;
  /** What each node must be able to read. */
  readonly roots: readonly string[];
}

export interface SessionValues {
  readonly timeZone: string;
  /** What `now()` is, as DuckDB writes a TIMESTAMPTZ in UTC. */
  readonly now: string;
}

export interface ResultColumn {
  readonly name: string;
  /** As DuckDB writes it, so that a cast to it can be written down. */
  readonly type: string;
}

export interface Stage {
  readonly id: number;
  /** For people: what it does, in a few words. */
  readonly title: string;
  readonly tasks: number;
  readonly fragment: Fragment;
  readonly output: StageOutput;
  readonly estimate: Estimate;
  /** For EXPLAIN: the operators, outermost first, indented by depth. */
  readonly operators: readonly string[];
  /** Why running it again may give other rows; null when it gives the same ones. */
  readonly nonDeterministic: string | null;
  /** Custom operators that a node must have to run its tasks. */
  readonly requires: readonly string[];
}

export interface Estimate {
  readonly rows: number | null;
  readonly bytes: number | null;
}

/** SQL over named relations. */
export interface Fragment {
  /** A query whose columns are `c0`, `c1`, ...; for a whole query (`tables`) the user's own text. */
  readonly sql: string;
  readonly columns: readonly FragmentColumn[];
  readonly scans: readonly Scan[];
  readonly inputs: readonly ExchangeInput[];
  /** Views that a whole query needs, under the names of the user. Empty for all other fragments. */
  readonly tables: readonly PinnedTable[];
}

export interface FragmentColumn {
  /** `c0`, `c1`, ... */
  readonly name: string;
  /** The logical type, as DuckDB writes it: what Parquet makes of it is undone by the reader. */
  readonly type: string;
}

/** A table's columns under the name `relation`, as `c0`, `c1`, ... in this order. Which files and rows a task
 * reads stands in its own input. */
export interface Scan {
  readonly relation: string;
  /** The name that people know it by. */
  readonly table: string;
  /** Paths, if not all files of the table are read. */
  readonly files: readonly string[] | null;
  /** `own`: each task reads its share of the rows. `all`: every task reads all of them. */
  readonly rows: 'own' | 'all';
  /** With `own`: by which values rows belong to a task; absent when it is by where they stand in their files. */
  readonly split?: ScanSplit;
  readonly reader: ScanReader;
  readonly columns: readonly ScanColumn[];
}

/** Task 0 reads rows whose value is below the first bound, task i those from bound i - 1 to before bound i. The column has
 * no NULL. */
export interface ScanSplit {
  /** Its place in `columns`. */
  readonly column: number;
  /** One fewer than there are tasks; none is below the one before it. */
  readonly bounds: readonly number[];
}

export interface ScanColumn {
  /** As the file has it. */
  readonly source: string;
  /** The type that the whole table has: a part of the files may have another one. */
  readonly type: string;
}

export interface ScanReader {
  readonly format: 'parquet' | 'csv' | 'json';
  /** Further arguments of `read_parquet` and so on, as SQL: `hive_partitioning = true, union_by_name = true`. */
  readonly options: string;
}

/** The output of another stage under the name `relation`. */
export interface ExchangeInput {
  readonly relation: string;
  readonly stage: number;
  /**
   * `partition`: task i reads partition i of every producer. `all`: every task reads everything.
   * `forward`: task i reads what producer i has made.
   */
  readonly mode: 'partition' | 'all' | 'forward';
  readonly columns: readonly FragmentColumn[];
}

export type StageOutput =
  /** Each row goes to partition `(hash(by...) >> 24) % partitions`; `by` is SQL over `c0`, `c1`, ... */
  | { readonly kind: 'hash'; readonly by: readonly string[]; readonly partitions: number }
  /** One partition with all rows. */
  | { readonly kind: 'whole' }
  /** One partition that the user reads; a small one goes to the store. */
  | { readonly kind: 'result' };
