/**
 * Aggregates in two phases: what each task computes of its own rows (partial), how the partial rows are merged
 * (final), and the result. Only forms that return exactly what DuckDB returns over all rows at once are listed; any
 * other aggregate sees all rows of its group. Compensated sums (`fsum`, `favg`) are not listed: the compensation of a
 * partial sum is not a value that could travel.
 */
import type { AggregateCall, Expression } from '../logical/expression.ts';
import { BIGINT, BOOLEAN, DOUBLE, HUGEINT, VARCHAR, decimalType } from '../logical/type.ts';
import type { SqlType } from '../logical/type.ts';
import { sameType } from '../logical/type.ts';
import { isFloat, isInteger } from './types.ts';

export interface PartialAggregate {
  /** Over the input rows. */
  readonly before: readonly AggregateCall[];
  readonly after: readonly MergeCall[];
  /** The result, from the columns that `after` returns. */
  readonly result: (merged: readonly Expression[]) => Expression;
}

/** An aggregate over the partial columns, which are given by their positions in `before`. */
export interface MergeCall {
  readonly name: string;
  readonly args: readonly number[];
  /** If set, counts only rows where this partial column is above zero. */
  readonly where: number | null;
  readonly type: SqlType;
}

/**
 * Returns null for an aggregate that has no partial form. A call with DISTINCT is split as if its values were
 * distinct over all tasks; the caller must ensure that.
 */
export function partialAggregate(call: AggregateCall): PartialAggregate | null {
  if (call.order.length > 0) return null;
  const split = FORMS[call.name];
  return split === undefined ? null : split(call);
}

/** Aggregates whose result is the same with and without DISTINCT. */
const DUPLICATES_DO_NOT_COUNT: ReadonlySet<string> = new Set([
  ...['min', 'max', 'bool_and', 'bool_or', 'bit_and', 'bit_or', 'any_value'],
]);

export function withoutNeedlessDistinct(call: AggregateCall): AggregateCall {
  const isNeedless = call.distinct && DUPLICATES_DO_NOT_COUNT.has(call.name);
  return isNeedless ? { ...call, distinct: false } : call;
}

type Form = (call: AggregateCall) => PartialAggregate | null;

const FORMS: Readonly<Record<string, Form | undefined>> = {
  count: splitCount,
  count_star: splitCount,
  count_if: splitCountIf,
  countif: splitCountIf,
  sum: splitSum,
  sum_no_overflow: splitSum,
  product: splitAgain,
  min: splitExtreme,
  max: splitExtreme,
  bool_and: splitAgain,
  bool_or: splitAgain,
  bit_and: splitAgain,
  bit_or: splitAgain,
  bit_xor: splitAgain,
  any_value: splitAgain,
  first: splitFirst,
  arbitrary: splitFirst,
  last: splitFirst,
  avg: splitAverage,
  mean: splitAverage,
  arg_min: splitArgument,
  arg_max: splitArgument,
};

function part(call: AggregateCall, name: string, type: SqlType): AggregateCall {
  return { ...call, name, type };
}

function merge(name: string, args: readonly number[], type: SqlType): MergeCall {
  return { name, args, where: null, type };
}

/** Partial results are merged by the aggregate itself. */
function splitAgain(call: AggregateCall): PartialAggregate | null {
  if (call.args.length !== 1) return null;
  return {
    before: [call],
    after: [merge(call.name, [0], call.type)],
    result: ([merged]) => merged as Expression,
  };
}

function splitCount(call: AggregateCall): PartialAggregate {
  return {
    before: [call],
    after: [merge('sum', [0], HUGEINT)],
    // Without any group there is nothing to add up.
    result: ([merged]) => cast(orZero(merged as Expression), call.type),
  };
}

/** DuckDB computes it as a sum of ones, so it is NULL over no rows. */
function splitCountIf(call: AggregateCall): PartialAggregate {
  return {
    before: [call],
    after: [merge('sum', [0], HUGEINT)],
    result: ([merged]) => cast(merged as Expression, call.type),
  };
}

const SUMS: ReadonlySet<string> = new Set(['HUGEINT', 'DECIMAL', 'DOUBLE']);

function splitSum(call: AggregateCall): PartialAggregate | null {
  if (!SUMS.has(call.type.id)) return null;
  return {
    before: [part(call, 'sum', call.type)],
    after: [merge('sum', [0], call.type)],
    result: ([merged]) => merged as Expression,
  };
}

function splitExtreme(call: AggregateCall): PartialAggregate | null {
  const hasCollation = call.args.some(({ type }) => (type.collation ?? '') !== '');
  return hasCollation ? null : splitAgain(call);
}

/** Any row will do. A task without rows has none to offer, so its NULL must not be taken for a value. */
function splitFirst(call: AggregateCall): PartialAggregate | null {
  if (call.args.length !== 1 || call.distinct) return null;
  const count: AggregateCall = { ...call, name: 'count', args: [], type: BIGINT };
  return {
    before: [call, count],
    after: [{ ...merge(call.name, [0], call.type), where: 1 }],
    result: ([merged]) => merged as Expression,
  };
}

/** The value at the least or greatest key; rows with a NULL in either do not count. */
function splitArgument(call: AggregateCall): PartialAggregate | null {
  const [value, by] = call.args;
  if (value === undefined || by === undefined || call.args.length !== 2) return null;
  if (call.distinct || (by.type.collation ?? '') !== '') return null;
  const counted: Expression = { kind: 'isNotNull', input: value, type: BOOLEAN };
  const filter: Expression =
    call.filter === null ? counted : { kind: 'and', parts: [call.filter, counted], type: BOOLEAN };
  const extreme = call.name === 'arg_min' ? 'min' : 'max';
  return {
    before: [call, { ...call, name: extreme, args: [by], filter, type: by.type }],
    after: [merge(call.name, [0, 1], call.type)],
    result: ([merged]) => merged as Expression,
  };
}

/** DuckDB adds up exactly and divides once at the end; so does this, to the last bit. */
function splitAverage(call: AggregateCall): PartialAggregate | null {
  const [value] = call.args;
  if (value === undefined || call.args.length !== 1 || !sameType(call.type, DOUBLE)) return null;
  const count = part(call, 'count', BIGINT);
  const counted = merge('sum', [1], HUGEINT);
  if (isFloat(value.type) || (isInteger(value.type) && !HUGE.has(value.type.id))) {
    const sum = isFloat(value.type) ? DOUBLE : HUGEINT;
    return {
      before: [part(call, 'sum', sum), count],
      after: [merge('sum', [0], sum), counted],
      result: ([total, n]) => quotient(cast(total as Expression, DOUBLE), n as Expression, 0),
    };
  }
  const { width = 38, scale = 0 } = value.type;
  if (value.type.id !== 'DECIMAL') return null;
  const sum = decimalType(38, scale);
  return {
    before: [part(call, 'sum', sum), count],
    after: [merge('sum', [0], sum), counted],
    result: ([total, n]) =>
      quotient(cast(unscaled(total as Expression, width, scale), DOUBLE), n as Expression, scale),
  };
}

const HUGE: ReadonlySet<string> = new Set(['HUGEINT', 'UHUGEINT']);

/** `sum / (n * 10^scale)`, in floating point. */
function quotient(sum: Expression, count: Expression, scale: number): Expression {
  const n = cast(count, DOUBLE);
  const unit: Expression = {
    kind: 'constant',
    sql: `CAST(1${'0'.repeat(scale)} AS DOUBLE)`,
    type: DOUBLE,
  };
  const by = scale === 0 ? n : binary('*', n, unit, DOUBLE);
  return binary('/', sum, by, DOUBLE);
}

/** Digits of the largest number of rows that a table may have. */
const ROWS_DIGITS = 13;
const DIGITS_MAX = 38;

/** A decimal as an integer without its point: by multiplication where that cannot overflow, otherwise via text. */
function unscaled(sum: Expression, width: number, scale: number): Expression {
  if (scale === 0) return cast(sum, HUGEINT);
  if (width + ROWS_DIGITS + scale <= DIGITS_MAX) {
    const factor: Expression = {
      kind: 'constant',
      sql: `CAST(1${'0'.repeat(scale)} AS DECIMAL(${scale + 1},0))`,
      type: decimalType(scale + 1, 0),
    };
    return cast(binary('*', sum, factor, decimalType(DIGITS_MAX, scale)), HUGEINT);
  }
  const text = (sql: string): Expression => ({ kind: 'constant', sql, type: VARCHAR });
  const digits: Expression = {
    kind: 'call',
    name: 'replace',
    args: [cast(sum, VARCHAR), text(`'.'`), text(`''`)],
    type: VARCHAR,
  };
  return cast(digits, HUGEINT);
}

function orZero(sum: Expression): Expression {
  const zero: Expression = { kind: 'constant', sql: 'CAST(0 AS HUGEINT)', type: HUGEINT };
  return { kind: 'coalesce', parts: [sum, zero], type: HUGEINT };
}

function binary(name: string, left: Expression, right: Expression, type: SqlType): Expression {
  return { kind: 'call', name, args: [left, right], type };
}

function cast(input: Expression, type: SqlType): Expression {
  return sameType(input.type, type) ? input : { kind: 'cast', input, isTry: false, type };
}
