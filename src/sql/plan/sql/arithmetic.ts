/**
 * Writes decimal arithmetic. DuckDB widens the operands of `+`, `-` and `*` when it binds them, and a plan contains
 * the widened ones. Binding those again would widen them further each time, so operands are written as they were
 * before, and the result is cast where the type would still differ.
 */
import type { Expression } from '../logical/expression.ts';
import { castTo, decimalType, sameType, type SqlType } from '../logical/type.ts';

const MAX_WIDTH = 38;
/** What fits into 64 bits. There DuckDB checks for overflow instead of using a wider type. */
const MAX_WIDTH_64 = 18;

/** By DuckDB's names for each. */
const OPERATORS: Readonly<Record<string, '+' | '-' | '*' | undefined>> = {
  '+': '+',
  '-': '-',
  '*': '*',
  add: '+',
  subtract: '-',
  multiply: '*',
};

type Call = Extract<Expression, { kind: 'call' }>;

/** Returns null for anything but a sum, difference or product of two decimals. */
export function printArithmetic(call: Call, print: (part: Expression) => string): string | null {
  const [left, right] = call.args;
  if (left === undefined || right === undefined || call.type.id !== 'DECIMAL') return null;
  const operator = OPERATORS[call.name];
  if (operator === undefined) return null;
  const operands = [left, right].map((part) => narrowed(part, print));
  const [one, two] = operands;
  if (one === undefined || two === undefined) return null;
  const text = `(${one.sql} ${operator} ${two.sql})`;
  const bound = boundType(operator, one.type, two.type);
  return bound !== null && sameType(bound, call.type) ? text : castTo(text, call.type);
}

interface Operand {
  readonly sql: string;
  readonly type: SqlType;
}

/** The operand before DuckDB widened it. */
function narrowed(part: Expression, print: (part: Expression) => string): Operand {
  if (part.kind === 'constant') return narrowedConstant(part);
  if (part.kind === 'cast' && !part.isTry && isWidening(part.input.type, part.type)) {
    return { sql: print(part.input), type: part.input.type };
  }
  return { sql: print(part), type: part.type };
}

function isWidening(from: SqlType, to: SqlType): boolean {
  if (from.id !== 'DECIMAL' || to.id !== 'DECIMAL') return false;
  return from.scale === to.scale && (from.width ?? 0) <= (to.width ?? 0);
}

/** A decimal literal has exactly the width it needs. */
function narrowedConstant(part: Extract<Expression, { kind: 'constant' }>): Operand {
  const found = /^CAST\('(-?)(\d+)(?:\.(\d+))?' AS DECIMAL\(\d+,\d+\)\)$/.exec(part.sql);
  const [, sign = '', whole = '', fraction = ''] = found ?? [];
  const digits = whole === '0' ? fraction.length : whole.length + fraction.length;
  // Without a point it would be an integer, and a sign before it would be another operator.
  if (found === null || fraction === '' || sign !== '' || digits > MAX_WIDTH_64) {
    return { sql: part.sql, type: part.type };
  }
  const scale = fraction.length;
  // DuckDB counts the zero before the point.
  return { sql: `${whole}.${fraction}`, type: decimalType(whole.length + scale, scale) };
}

/** The type that DuckDB gives the result. */
function boundType(name: '+' | '-' | '*', left: SqlType, right: SqlType): SqlType | null {
  const [lw, ls, rw, rs] = [left.width, left.scale, right.width, right.scale];
  if (lw === undefined || ls === undefined || rw === undefined || rs === undefined) return null;
  const widest = Math.max(lw, rw);
  if (name === '*') {
    const scale = ls + rs;
    const isCapped = lw + rw > MAX_WIDTH_64 && widest <= MAX_WIDTH_64 && scale < MAX_WIDTH_64;
    return decimalType(isCapped ? MAX_WIDTH_64 : Math.min(lw + rw, MAX_WIDTH), scale);
  }
  const scale = Math.max(ls, rs);
  const needed = Math.max(scale + Math.max(lw - ls, rw - rs), widest) + 1;
  const isCapped = needed > MAX_WIDTH_64 && widest <= MAX_WIDTH_64;
  return decimalType(isCapped ? MAX_WIDTH_64 : Math.min(needed, MAX_WIDTH), scale);
}
