/**
 * Logical plans. Columns have no names: an expression refers to a column by its index in the output of the operator
 * below (for a join: the left columns, then the right ones).
 */
import type { AggregateCall, Expression, OrderBy, WindowCall } from './expression.ts';
import type { SqlType } from './type.ts';

export type Relation =
  | ScanRelation
  | InputRelation
  | Values
  | Empty
  | Project
  | Filter
  | Aggregate
  | Join
  | Cross
  | AsOfJoin
  | PositionalJoin
  | SetOperation
  | Distinct
  | Window
  | Sort
  | TopN
  | Limit
  | Unnest
  | With
  | CteRef;

export interface AnyRelation {
  readonly output: readonly SqlType[];
  /** DuckDB's estimate. */
  readonly rows: number | null;
}

/**
 * The files of one table function. `columns` are indexes into the table. `filters` refer to the scan's output before
 * `keep`, which selects what is returned.
 */
export interface ScanRelation extends AnyRelation {
  readonly kind: 'scan';
  /** `read_parquet`, or `seq_scan` for one of the planner's own tables. */
  readonly reader: string;
  /** The files of the table that remain after DuckDB excluded some by their paths. */
  readonly files: readonly string[];
  /** The name of one of the planner's own tables; null for files. */
  readonly table: string | null;
  readonly names: readonly string[];
  readonly types: readonly SqlType[];
  /** Table columns that are read; `null` for no data (only the existence of a row). */
  readonly columns: readonly (number | null)[];
  readonly filters: readonly Expression[];
  /** Indexes into `columns`. */
  readonly keep: readonly number[];
  /** It uses the position of a row in its file, so the scan must not be split. */
  readonly hasRowPlaces: boolean;
}

/**
 * The output of another stage, under a name. The reader never returns one: they are added when a plan is distributed.
 */
export interface InputRelation extends AnyRelation {
  readonly kind: 'input';
  readonly relation: string;
}

/** Constant rows: `VALUES`, an IN list, or the one row of a query without FROM. */
export interface Values extends AnyRelation {
  readonly kind: 'values';
  readonly lists: readonly (readonly Expression[])[];
}

export interface Empty extends AnyRelation {
  readonly kind: 'empty';
}

export interface Project extends AnyRelation {
  readonly kind: 'project';
  readonly input: Relation;
  readonly expressions: readonly Expression[];
}

export interface Filter extends AnyRelation {
  readonly kind: 'filter';
  readonly input: Relation;
  readonly conditions: readonly Expression[];
}

/** Output: the groups, the aggregates, then one BIGINT for each GROUPING call. */
export interface Aggregate extends AnyRelation {
  readonly kind: 'aggregate';
  readonly input: Relation;
  readonly groups: readonly Expression[];
  /** Indexes into `groups`: one set with all of them for a plain GROUP BY, none for a total. */
  readonly sets: readonly (readonly number[])[];
  readonly calls: readonly AggregateCall[];
  readonly grouping: readonly (readonly number[])[];
}

export type JoinType =
  | 'inner'
  | 'left'
  | 'right'
  | 'full'
  | 'semi'
  | 'anti'
  /** The left columns and a boolean that may be NULL: whether there is a match. */
  | 'mark'
  /** Like `left`, but a second match is an error (or the first match is taken, see `errorOnMany`). */
  | 'single';

export interface Join extends AnyRelation {
  readonly kind: 'join';
  readonly type: JoinType;
  readonly left: Relation;
  readonly right: Relation;
  /** `left` refers to the left columns and `right` to the right ones, each counted from 0. */
  readonly conditions: readonly JoinCondition[];
  /** Any other condition, over the columns of both sides. */
  readonly predicate: Expression | null;
  readonly errorOnMany: boolean;
  /** Of a semi or anti join: it was a correlated EXISTS or NOT EXISTS, and its text may be one. */
  readonly isCorrelated?: true;
}

export interface JoinCondition {
  readonly left: Expression;
  readonly right: Expression;
  readonly comparison: Comparison;
}

export type Comparison =
  | '='
  | '<>'
  | '<'
  | '<='
  | '>'
  | '>='
  | 'IS NOT DISTINCT FROM'
  | 'IS DISTINCT FROM';

export interface Cross extends AnyRelation {
  readonly kind: 'cross';
  readonly left: Relation;
  readonly right: Relation;
}

export interface AsOfJoin extends AnyRelation {
  readonly kind: 'asof';
  readonly type: JoinType;
  readonly left: Relation;
  readonly right: Relation;
  /** Equalities, and exactly one inequality, which is the last. */
  readonly conditions: readonly JoinCondition[];
}

export interface PositionalJoin extends AnyRelation {
  readonly kind: 'positional';
  readonly left: Relation;
  readonly right: Relation;
}

export interface SetOperation extends AnyRelation {
  readonly kind: 'set';
  readonly operation: 'union' | 'intersect' | 'except';
  readonly all: boolean;
  readonly inputs: readonly Relation[];
}

export interface Distinct extends AnyRelation {
  readonly kind: 'distinct';
  readonly input: Relation;
  /** DISTINCT ON these; null for all columns. */
  readonly on: readonly Expression[] | null;
  readonly order: readonly OrderBy[];
}

/** Output: the input's columns, then one for each call. */
export interface Window extends AnyRelation {
  readonly kind: 'window';
  readonly input: Relation;
  readonly calls: readonly WindowCall[];
}

export interface Sort extends AnyRelation {
  readonly kind: 'sort';
  readonly input: Relation;
  readonly order: readonly OrderBy[];
}

export interface TopN extends AnyRelation {
  readonly kind: 'topN';
  readonly input: Relation;
  readonly order: readonly OrderBy[];
  readonly limit: number;
  readonly offset: number;
}

export interface Limit extends AnyRelation {
  readonly kind: 'limit';
  readonly input: Relation;
  /**
   * Null for no limit, only an offset. Percentages and expressions are not supported: such a query runs as a single
   * fragment.
   */
  readonly limit: number | null;
  readonly offset: number;
}

/** Output: the input's columns, then one for each expression. */
export interface Unnest extends AnyRelation {
  readonly kind: 'unnest';
  readonly input: Relation;
  readonly expressions: readonly Expression[];
}

/** A CTE: `body` refers to `definition` by references. Joins with duplicate elimination are expressed with it too. */
export interface With extends AnyRelation {
  readonly kind: 'with';
  /** Unique in the plan. */
  readonly cte: number;
  readonly definition: Relation;
  readonly body: Relation;
}

export interface CteRef extends AnyRelation {
  readonly kind: 'ref';
  readonly cte: number;
}
