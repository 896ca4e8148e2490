/** Expressions as bound by DuckDB: every type is known, every cast is explicit. */
import type { SqlType } from './type.ts';
import type { Comparison } from './relation.ts';

export type Expression =
  | { readonly kind: 'column'; readonly index: number; readonly type: SqlType }
  /** `sql` is a literal of exactly this type, with a cast if it needs one. */
  | { readonly kind: 'constant'; readonly sql: string; readonly type: SqlType }
  | {
      readonly kind: 'call';
      readonly name: string;
      readonly args: readonly Expression[];
      /** For `struct_pack` and the like: the names of the last arguments, as in `name := value`. */
      readonly names?: readonly string[];
      readonly type: SqlType;
    }
  /** Only as an argument of a call. `body` refers to `param`s and to columns of the row around it. */
  | {
      readonly kind: 'lambda';
      readonly params: readonly number[];
      readonly body: Expression;
      readonly type: SqlType;
    }
  /** A parameter of an enclosing lambda; its number is unique in the plan. */
  | { readonly kind: 'param'; readonly param: number; readonly type: SqlType }
  | {
      readonly kind: 'cast';
      readonly input: Expression;
      readonly isTry: boolean;
      readonly type: SqlType;
    }
  | {
      readonly kind: 'compare';
      readonly comparison: Comparison;
      readonly left: Expression;
      readonly right: Expression;
      readonly type: SqlType;
    }
  | { readonly kind: 'and' | 'or'; readonly parts: readonly Expression[]; readonly type: SqlType }
  | { readonly kind: 'not'; readonly input: Expression; readonly type: SqlType }
  | { readonly kind: 'isNull' | 'isNotNull'; readonly input: Expression; readonly type: SqlType }
  | {
      readonly kind: 'in';
      readonly negated: boolean;
      readonly input: Expression;
      readonly list: readonly Expression[];
      readonly type: SqlType;
    }
  | { readonly kind: 'coalesce'; readonly parts: readonly Expression[]; readonly type: SqlType }
  | {
      readonly kind: 'case';
      readonly branches: readonly { readonly when: Expression; readonly result: Expression }[];
      readonly otherwise: Expression;
      readonly type: SqlType;
    }
  | {
      readonly kind: 'between';
      readonly input: Expression;
      readonly low: Expression;
      readonly high: Expression;
      readonly includesLow: boolean;
      readonly includesHigh: boolean;
      readonly type: SqlType;
    };

export interface OrderBy {
  readonly expression: Expression;
  readonly descending: boolean;
  readonly nullsFirst: boolean;
}

export interface AggregateCall {
  readonly name: string;
  readonly args: readonly Expression[];
  readonly distinct: boolean;
  readonly filter: Expression | null;
  readonly order: readonly OrderBy[];
  readonly type: SqlType;
}

export interface WindowCall {
  /** `row_number`, `rank`, `sum`, ... */
  readonly name: string;
  readonly args: readonly Expression[];
  readonly partitionBy: readonly Expression[];
  readonly orderBy: readonly OrderBy[];
  /**
   * Written out in full, over the same columns; empty for the default. `{0}` and so on are placeholders for
   * `frameValues`.
   */
  readonly frame: string;
  readonly frameValues: readonly Expression[];
  readonly ignoreNulls: boolean;
  readonly distinct: boolean;
  readonly filter: Expression | null;
  /** ORDER BY inside the arguments. */
  readonly argOrder: readonly OrderBy[];
  readonly type: SqlType;
}
