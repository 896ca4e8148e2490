/**
 * Window functions over all rows in an order, computed range by range: what a call returns among the rows of a range, what
 * each range adds to those after it, and the result from both. Equal sort keys are in one range, so peers are complete.
 */
import type { AggregateCall, Expression, WindowCall } from '../logical/expression.ts';
import { BIGINT, BOOLEAN, DOUBLE, HUGEINT, sameType, type SqlType } from '../logical/type.ts';
import { sortKey } from './distribute-sort.ts';
import { partialAggregate } from './partial-aggregate.ts';
import { isExact, isFloat } from './types.ts';

export interface RunningPart {
  /** Over the rows of a range. */
  readonly local: readonly WindowCall[];
  /** Of each range. */
  readonly range: readonly AggregateCall[];
  /** Over the ranges before: `of` is an index into `range`. NULL for the first range. */
  readonly before: readonly Merge[];
  /** Over all ranges. */
  readonly all: readonly Merge[];
  readonly result: (values: RunningValues) => Expression;
}

export interface Merge {
  readonly name: string;
  readonly of: number;
  readonly type: SqlType;
}

export interface RunningValues {
  readonly local: readonly Expression[];
  readonly before: readonly Expression[];
  readonly all: readonly Expression[];
}

/** Null if the call has no such form. */
export function runningPart(call: WindowCall): RunningPart | null {
  const { partitionBy, orderBy, argOrder, distinct, ignoreNulls } = call;
  const isOrdered = orderBy.some(({ expression }) => expression.kind !== 'constant');
  if (partitionBy.length > 0 || argOrder.length > 0 || distinct || ignoreNulls || !isOrdered)
    return null;
  if (RANKS.has(call.name)) return call.args.length > 0 || call.filter !== null ? null : rank(call);
  return FROM_THE_FIRST.test(call.frame) ? runningAggregate(call) : null;
}

/** The default frame ends with the peers of the row, which are in its range. */
const FROM_THE_FIRST = /^$|^(ROWS|RANGE|GROUPS) BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW$/;
const RANKS: ReadonlySet<string> = new Set([
  ...['row_number', 'rank', 'dense_rank', 'percent_rank', 'cume_dist'],
]);

function rank(call: WindowCall): RunningPart {
  const rows = aggregate('count_star', []);
  const counted: Merge = { name: 'sum', of: 0, type: HUGEINT };
  const one = { range: [rows], before: [counted], all: [] };
  const place = ({ local, before }: RunningValues): Expression =>
    plus(local[0] as Expression, cast(orZero(before[0] as Expression), BIGINT), BIGINT);
  const share = (above: Expression, below: Expression): Expression =>
    binary('/', cast(above, DOUBLE), cast(below, DOUBLE), DOUBLE);
  switch (call.name) {
    case 'dense_rank': {
      const keys: AggregateCall = {
        ...aggregate('count', [sortKey(call.orderBy)]),
        distinct: true,
      };
      return { ...one, local: [call], range: [keys], result: place };
    }
    case 'percent_rank':
      return {
        ...one,
        local: [{ ...call, name: 'rank', type: BIGINT }],
        all: [counted],
        result: (values) => {
          const others = minus(cast(values.all[0] as Expression, BIGINT), ONE);
          const isAlone: Expression = {
            ...{ kind: 'compare', comparison: '=', left: others, right: ZERO },
            type: BOOLEAN,
          };
          const result = cast(ZERO, DOUBLE);
          const otherwise = share(minus(place(values), ONE), others);
          return { kind: 'case', branches: [{ when: isAlone, result }], otherwise, type: DOUBLE };
        },
      };
    case 'cume_dist':
      return {
        ...one,
        // Up to the last peer.
        local: [{ ...call, name: 'count_star', type: BIGINT, frame: '', frameValues: [] }],
        all: [counted],
        result: (values) => share(place(values), values.all[0] as Expression),
      };
    default:
      return { ...one, local: [call], result: place };
  }
}

const MERGES: ReadonlySet<string> = new Set(['sum', 'min', 'max']);

/** The partial form of the aggregate, over the rows of a range so far and over the ranges before it. */
function runningAggregate(call: WindowCall): RunningPart | null {
  const { name, args, filter, type } = call;
  const split = partialAggregate({ name, args, distinct: false, filter, order: [], type });
  const mayMerge = split?.after.every(
    ({ name: merge, args: of, where, type: merged }) =>
      MERGES.has(merge) &&
      of.length === 1 &&
      where === null &&
      (isExact(merged) || isFloat(merged)),
  );
  if (split === null || mayMerge !== true) return null;
  const before = split.after.map((each): Merge => ({
    ...{ name: each.name, type: each.type },
    of: each.args[0] as number,
  }));
  return {
    local: split.before.map((each) => ({ ...call, ...partOf(each) })),
    range: split.before,
    before,
    all: [],
    result: (values) =>
      split.result(
        before.map(({ name: merge, of, type: merged }, at) =>
          both(
            merge,
            cast(values.local[of] as Expression, merged),
            values.before[at] as Expression,
          ),
        ),
      ),
  };
}

function partOf({ name, args, filter, type }: AggregateCall): Partial<WindowCall> {
  return { name, args, filter, type };
}

/** Either may be NULL: there are no values yet. */
function both(merge: string, left: Expression, right: Expression): Expression {
  const { type } = left;
  const isNull = (input: Expression): Expression => ({ kind: 'isNull', input, type: BOOLEAN });
  const isLess: Expression = {
    ...{ kind: 'compare', comparison: merge === 'min' ? '<=' : '>=', left, right },
    type: BOOLEAN,
  };
  const branches = [
    { when: isNull(left), result: right },
    { when: isNull(right), result: left },
    ...(merge === 'sum' ? [] : [{ when: isLess, result: left }]),
  ];
  return {
    kind: 'case',
    branches,
    otherwise: merge === 'sum' ? plus(left, right, type) : right,
    type,
  };
}

function aggregate(name: string, args: readonly Expression[]): AggregateCall {
  return { name, args, distinct: false, filter: null, order: [], type: BIGINT };
}

const ONE: Expression = { kind: 'constant', sql: 'CAST(1 AS BIGINT)', type: BIGINT };
const ZERO: Expression = { kind: 'constant', sql: 'CAST(0 AS BIGINT)', type: BIGINT };

function orZero(sum: Expression): Expression {
  return { kind: 'coalesce', parts: [sum, cast(ZERO, sum.type)], type: sum.type };
}

function plus(left: Expression, right: Expression, type: SqlType): Expression {
  return binary('+', left, right, type);
}

function minus(left: Expression, right: Expression): Expression {
  return binary('-', left, right, BIGINT);
}

function binary(name: string, left: Expression, right: Expression, type: SqlType): Expression {
  return { kind: 'call', name, args: [left, right], type };
}

function cast(input: Expression, type: SqlType): Expression {
  return sameType(input.type, type) ? input : { kind: 'cast', input, isTry: false, type };
}
