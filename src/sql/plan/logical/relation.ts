/**
 * DuckDB's optimised plan in our own words. Columns have no names: an expression speaks of the place of a column
 * in the output of the operator below it (of a join: the left columns, then the right ones).
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

/** The files of one table function. `columns` are places in the table; `filters` speak of the scan's own output
 * before `keep`, which selects what is handed on. */
export interface ScanRelation extends AnyRelation {
  readonly kind: 'scan';
  /** `read_parquet`, or `seq_scan` for a table of the planner's own. */
  readonly reader: string;
  /** What DuckDB has left of the table's files: by their path alone some need not be read. */
  readonly files: readonly string[];
  /** The name of a table of the planner's own; null for files. */
  readonly table: string | null;
  readonly names: readonly string[];
  readonly types: readonly SqlType[];
  /** Table columns that are read; `null` for none of the data (a row is a row). */
  readonly columns: readonly (number | null)[];
  readonly filters: readonly Expression[];
  /** Places in `columns`. */
  readonly keep: readonly number[];
  /** It asks where a row stood in its file: no split may be made. */
  readonly hasRowPlaces: boolean;
}

/** What another stage has made, under a name. The reader makes none: they come when a plan is divided. */
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
  /** Places in `groups`; one set with all of them for a plain GROUP BY, none for a total. */
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
  /** As `left`, but more than one match is an error (or the first is taken, see `errorOnMany`). */
  | 'single';

export interface Join extends AnyRelation {
  readonly kind: 'join';
  readonly type: JoinType;
  readonly left: Relation;
  readonly right: Relation;
  /** `left` speaks of the left columns, `right` of the right ones, each from 0. */
  readonly conditions: readonly JoinCondition[];
  /** Any other condition, over both sides' columns. */
  readonly predicate: Expression | null;
  readonly errorOnMany: boolean;
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
  /** Equalities, and exactly one inequality, the last. */
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
  /** Null for no limit: only an offset. Percentages and expressions are not read: such a query runs whole. */
  readonly limit: number | null;
  readonly offset: number;
}

/** Output: the input's columns, then one for each expression. */
export interface Unnest extends AnyRelation {
  readonly kind: 'unnest';
  readonly input: Relation;
  readonly expressions: readonly Expression[];
}

/** `body` speaks of `definition` by references. A join with duplicate elimination is written with it too. */
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
