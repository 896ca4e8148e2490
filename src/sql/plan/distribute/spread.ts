/** How the rows of a relation are divided between the tasks that compute it. */
import type { Expression } from '../logical/expression.ts';
import { mapColumns } from '../logical/walk.ts';
import { collectColumns, expressionKey, moved } from './expressions.ts';
import type { Division } from './division.ts';
import { isExact } from './types.ts';

export type Spread =
  /** Each task has all of it, computed by itself from the same data. */
  | { readonly kind: 'replicated' }
  /** There is one task, and it has all of it. */
  | { readonly kind: 'single' }
  /** Each row is in one of N tasks; nobody knows in which. */
  | { readonly kind: 'random' }
  /** Each row is in the task that its keys name. */
  | KeyedSpread;

export interface KeyedSpread {
  readonly kind: 'hash';
  readonly keys: readonly HashKey[];
  /** How a task follows from the keys: by their hash, or, of a single one, by its value. */
  readonly division: Division | null;
}

/** Expressions over the columns of the relation that all have, in every row, the value that was hashed. */
export type HashKey = readonly Expression[];

export const REPLICATED: Spread = { kind: 'replicated' };
export const SINGLE: Spread = { kind: 'single' };
export const RANDOM: Spread = { kind: 'random' };

export function isDivided(spread: Spread): boolean {
  return spread.kind === 'random' || spread.kind === 'hash';
}

export function hashedBy(keys: readonly Expression[]): Spread {
  return { kind: 'hash', keys: keys.map((key) => [key]), division: null };
}

export function dividedBy(key: Expression, division: Division): Spread {
  return { kind: 'hash', keys: [[key]], division };
}

/** The same keys mean the same task in both. */
export function areAlike(left: KeyedSpread, right: KeyedSpread): boolean {
  if (left.keys.length !== right.keys.length) return false;
  if (left.division === null || right.division === null) return left.division === right.division;
  return left.division.isSame(right.division);
}

/** The same rows under other columns: `outputs` are the new columns in terms of the old ones. */
export function throughColumns(spread: Spread, outputs: readonly Expression[]): Spread {
  return rewrittenKeys(spread, (key) => inTermsOf(key, outputs));
}

/** The columns stand `by` places further right. */
export function shifted(spread: Spread, by: number): Spread {
  return rewrittenKeys(spread, (key) => moved(key, (at) => at + by));
}

function rewrittenKeys(spread: Spread, rewrite: (key: Expression) => Expression | null): Spread {
  if (spread.kind !== 'hash') return spread;
  const keys = spread.keys.map((key) => key.map(rewrite).filter((each) => each !== null));
  return keys.every((key) => key.length > 0) ? { ...spread, keys } : RANDOM;
}

/** An expression over the old columns as one over the new ones; null when it cannot be said with them. */
function inTermsOf(expression: Expression, outputs: readonly Expression[]): Expression | null {
  const keys = new Map<string, number>();
  // The first of two equal outputs wins.
  for (const [at, output] of outputs.entries()) {
    const key = expressionKey(output);
    if (!keys.has(key)) keys.set(key, at);
  }
  const direct = keys.get(expressionKey(expression));
  if (direct !== undefined) return { kind: 'column', index: direct, type: expression.type };
  const used = new Set<number>();
  collectColumns(expression, used);
  let isComplete = used.size > 0;
  const result = mapColumns(expression, ({ index, type }) => {
    const place = keys.get(expressionKey({ kind: 'column', index, type }));
    if (place === undefined) isComplete = false;
    return { kind: 'column', index: place ?? 0, type };
  });
  return isComplete ? result : null;
}

/** Whether rows that agree in all of `groups` are always in the same task. */
export function isDividedBy(spread: Spread, groups: readonly Expression[]): boolean {
  if (spread.kind !== 'hash') return false;
  return spread.keys.every((key) => key.some((each) => isDetermined(each, groups)));
}

/** Equal groups mean equal keys: the key is a group, or a function of groups whose equal values are the same. */
function isDetermined(key: Expression, groups: readonly Expression[]): boolean {
  const texts = new Set(groups.map(expressionKey));
  if (texts.has(expressionKey(key))) return true;
  const rewritten = inTermsOf(key, groups);
  if (rewritten === null) return false;
  const used = new Set<number>();
  collectColumns(rewritten, used);
  return [...used].every((at) => {
    const group = groups[at];
    return group !== undefined && isExact(group.type);
  });
}

/** Further names for the keys: wherever a key is `from`, it is `to` as well. */
export function withEqual(
  spread: Spread,
  pairs: readonly { readonly from: Expression; readonly to: Expression }[],
): Spread {
  if (spread.kind !== 'hash') return spread;
  const keys = spread.keys.map((key) => {
    const texts = new Set(key.map(expressionKey));
    const more = pairs.filter(({ from }) => texts.has(expressionKey(from))).map(({ to }) => to);
    return [...key, ...more.filter((each) => !texts.has(expressionKey(each)))];
  });
  return { ...spread, keys };
}
