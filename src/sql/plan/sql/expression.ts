/** Writes expressions as SQL. Everything that could be ambiguous is in parentheses. */
import { quotedName } from '../logical/quote.ts';
import type { AggregateCall, Expression, OrderBy, WindowCall } from '../logical/expression.ts';
import { castTo } from '../logical/type.ts';
import { printArithmetic } from './arithmetic.ts';

/** The text of a column of the operator below. */
export type ColumnText = (index: number) => string;

export function printExpression(expression: Expression, column: ColumnText): string {
  const nested = (part: Expression): string => printNested(part, column);
  switch (expression.kind) {
    case 'column':
      return column(expression.index);
    case 'constant':
      return expression.sql;
    case 'param':
      return paramName(expression.param);
    case 'call':
      return printCall(expression, column);
    case 'lambda':
      return `lambda ${expression.params.map(paramName).join(', ')}: ${nested(expression.body)}`;
    case 'cast': {
      const input = printExpression(expression.input, column);
      const cast = castTo(input, expression.type);
      return expression.isTry ? `TRY_${cast}` : cast;
    }
    case 'compare':
      return `${nested(expression.left)} ${expression.comparison} ${nested(expression.right)}`;
    case 'and':
      return expression.parts.map(nested).join(' AND ');
    case 'or':
      return expression.parts.map(nested).join(' OR ');
    case 'not':
      return `NOT ${nested(expression.input)}`;
    case 'isNull':
      return `${nested(expression.input)} IS NULL`;
    case 'isNotNull':
      return `${nested(expression.input)} IS NOT NULL`;
    case 'in': {
      const list = expression.list.map((item) => printExpression(item, column)).join(', ');
      return `${nested(expression.input)} ${expression.negated ? 'NOT IN' : 'IN'} (${list})`;
    }
    case 'coalesce':
      return `coalesce(${expression.parts.map((part) => printExpression(part, column)).join(', ')})`;
    case 'case':
      return printCase(expression, nested);
    case 'between':
      return printBetween(expression, nested);
  }
}

/** The same, in parentheses unless it is atomic. */
export function printNested(expression: Expression, column: ColumnText): string {
  const text = printExpression(expression, column);
  return isCompound(expression) ? `(${text})` : text;
}

function isCompound(expression: Expression): boolean {
  switch (expression.kind) {
    case 'column':
    case 'param':
    case 'cast':
    case 'coalesce':
      return false;
    case 'constant':
      return expression.sql.startsWith('-');
    case 'call':
      // The caller puts operators into parentheses.
      return false;
    case 'lambda':
    case 'compare':
    case 'and':
    case 'or':
    case 'not':
    case 'isNull':
    case 'isNotNull':
    case 'in':
    case 'case':
    case 'between':
      return true;
  }
}

function paramName(param: number): string {
  return `p${param}`;
}

/** Names that have special syntax in SQL unless they are quoted. */
const KEYWORDS: ReadonlySet<string> = new Set(
  'glob left map nullif position right row substring trim'.split(' '),
);

function functionName(name: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(name) && !KEYWORDS.has(name) ? name : quotedName(name);
}

type Call = Extract<Expression, { kind: 'call' }>;

function printCall(call: Call, column: ColumnText): string {
  if (/^[^a-zA-Z_]+$/.test(call.name)) return printOperator(call, column);
  const args = call.args.map((arg, i) => {
    const text = printExpression(arg, column);
    const name = call.names?.[i - (call.args.length - call.names.length)];
    return name === undefined ? text : `${quotedName(name)} := ${text}`;
  });
  // Not a function, and must not be quoted.
  if (call.name === 'try') return `TRY(${args.join(', ')})`;
  const arithmetic = printArithmetic(call, (part) => printNested(part, column));
  if (arithmetic !== null) return arithmetic;
  if (SLICES.has(call.name)) return printSlice(call, column);
  if (call.name === '!__postfix') return `factorial(${args.join(', ')})`;
  return `${functionName(call.name)}(${args.join(', ')})`;
}

const SLICES: ReadonlySet<string> = new Set(['array_slice', 'list_slice']);

/** Brackets: an omitted bound is an empty list in a plan, and no function takes one that has a type. */
function printSlice({ args }: Call, column: ColumnText): string {
  const [list, low, high, step] = args;
  const bound = (part: Expression | undefined, open: string): string => {
    const isOpen = part === undefined || (part.kind === 'constant' && part.type.id === 'LIST');
    return isOpen ? open : printNested(part, column);
  };
  const from = list === undefined ? '' : printNested(list, column);
  if (step === undefined) return `(${from})[${bound(low, '')}:${bound(high, '')}]`;
  return `(${from})[${bound(low, '')}:${bound(high, '-')}:${printNested(step, column)}]`;
}

function printOperator(call: Call, column: ColumnText): string {
  const [left, right] = call.args;
  const arithmetic = printArithmetic(call, (part) => printNested(part, column));
  if (arithmetic !== null) return arithmetic;
  if (left !== undefined && right === undefined) {
    return `(${call.name} ${printNested(left, column)})`;
  }
  return `(${call.args.map((arg) => printNested(arg, column)).join(` ${call.name} `)})`;
}

function printCase(
  expression: Extract<Expression, { kind: 'case' }>,
  nested: (part: Expression) => string,
): string {
  const branches = expression.branches
    .map(({ when, result }) => `WHEN ${nested(when)} THEN ${nested(result)}`)
    .join(' ');
  return `CASE ${branches} ELSE ${nested(expression.otherwise)} END`;
}

function printBetween(
  expression: Extract<Expression, { kind: 'between' }>,
  nested: (part: Expression) => string,
): string {
  const [input, low, high] = [expression.input, expression.low, expression.high].map(nested);
  if (expression.includesLow && expression.includesHigh) {
    return `${input} BETWEEN ${low} AND ${high}`;
  }
  const above = expression.includesLow ? '>=' : '>';
  const below = expression.includesHigh ? '<=' : '<';
  return `(${input} ${above} ${low}) AND (${input} ${below} ${high})`;
}

/**
 * Without `ORDER BY`; empty if nothing is left to order by. A constant orders nothing, and DuckDB would take a number
 * for the position of a column.
 */
export function printOrder(order: readonly OrderBy[], column: ColumnText): string {
  return order
    .filter(({ expression }) => expression.kind !== 'constant')
    .map(({ expression, descending, nullsFirst }) => {
      const direction = descending ? 'DESC' : 'ASC';
      const nulls = nullsFirst ? 'NULLS FIRST' : 'NULLS LAST';
      return `${printNested(expression, column)} ${direction} ${nulls}`;
    })
    .join(', ');
}

interface Called {
  readonly name: string;
  readonly args: readonly Expression[];
  readonly distinct: boolean;
  readonly ignoreNulls: boolean;
  readonly order: readonly OrderBy[];
  readonly filter: Expression | null;
}

export function printAggregate(call: AggregateCall, column: ColumnText): string {
  return printCalled({ ...call, ignoreNulls: false }, column);
}

function printCalled(call: Called, column: ColumnText): string {
  const isCountOfRows = call.name === 'count' && call.args.length === 0;
  const args = isCountOfRows
    ? '*'
    : call.args.map((arg) => printExpression(arg, column)).join(', ');
  const order = printOrder(call.order, column);
  const parts = [
    call.distinct ? `DISTINCT ${args}` : args,
    order === '' ? '' : `ORDER BY ${order}`,
    call.ignoreNulls ? 'IGNORE NULLS' : '',
  ];
  const text = `${functionName(call.name)}(${parts.filter((part) => part !== '').join(' ')})`;
  if (call.filter === null) return text;
  return `${text} FILTER (WHERE ${printExpression(call.filter, column)})`;
}

const RANKS: ReadonlySet<string> = new Set(['rank', 'dense_rank']);

export function printWindow(call: WindowCall, column: ColumnText): string {
  // All rows are peers. DuckDB 1.5.6 may crash on these: `dense_rank() OVER ()` of a union does.
  if (RANKS.has(call.name) && call.orderBy.length + call.argOrder.length === 0)
    return 'CAST(1 AS BIGINT)';
  const partition = call.partitionBy.map((by) => printNested(by, column)).join(', ');
  const order = printOrder(call.orderBy, column);
  const frame = call.frame.replace(/\{(\d+)\}/g, (whole, place: string) => {
    const value = call.frameValues[Number(place)];
    return value === undefined ? whole : printNested(value, column);
  });
  const over = [
    partition === '' ? '' : `PARTITION BY ${partition}`,
    order === '' ? '' : `ORDER BY ${order}`,
    frame,
  ];
  const called = printCalled({ ...call, order: call.argOrder }, column);
  return `${called} OVER (${over.filter((part) => part !== '').join(' ')})`;
}
