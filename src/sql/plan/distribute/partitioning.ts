/** How the rows of a relation are partitioned over the tasks that compute it. */
import type { Expression, OrderBy } from '../logical/expression.ts';
import { mapColumns } from '../logical/walk.ts';
import { collectColumns, expressionKey, moved } from './expressions.ts';
import type { RangePartitioning } from './range-partitioning.ts';
import { isExact } from './types.ts';

export type Partitioning =
  /** Every task has all rows, computed on its own from the same data. */
  | { readonly kind: 'replicated' }
  /** One task has all rows. */
  | { readonly kind: 'single' }
  /** Each row is in one of N tasks, and it is not known in which. */
  | { readonly kind: 'random' }
  /** Each row is in the task that its keys determine. */
  | KeyedPartitioning
  | OrderedPartitioning;

export interface KeyedPartitioning {
  readonly kind: 'keyed';
  readonly keys: readonly PartitionKey[];
  /** Range-partitioned by a single key; null if hash-partitioned. */
  readonly range: RangePartitioning | null;
}

/** Each row is in one of N tasks, and in this order all rows of a task come before those of the next task. */
export interface OrderedPartitioning {
  readonly kind: 'ordered';
  readonly order: readonly OrderBy[];
  /** The number of the range: rows of one number are in one task. */
  readonly by: Expression;
}

/** Expressions over the columns of the relation that all equal, in every row, the value by which it is partitioned. */
export type PartitionKey = readonly Expression[];

export const REPLICATED: Partitioning = { kind: 'replicated' };
export const SINGLE: Partitioning = { kind: 'single' };
export const RANDOM: Partitioning = { kind: 'random' };

export function isPartitioned(partitioning: Partitioning): boolean {
  const { kind } = partitioning;
  return kind === 'random' || kind === 'keyed' || kind === 'ordered';
}

export function hashPartitionedBy(keys: readonly Expression[]): Partitioning {
  return { kind: 'keyed', keys: keys.map((key) => [key]), range: null };
}

export function rangePartitionedBy(key: Expression, range: RangePartitioning): Partitioning {
  return { kind: 'keyed', keys: [[key]], range };
}

/**
 * Whether sorting the rows of each task by this order sorts all of them: the rows of a task come before those of the
 * next. That also holds for a range-partitioned column that the order begins with, as rows with equal values are in
 * the same task and the column has no NULL.
 */
export function isOrderedBy(partitioning: Partitioning, order: readonly OrderBy[]): boolean {
  if (partitioning.kind === 'ordered') return orderKey(partitioning.order) === orderKey(order);
  const [first] = order;
  if (partitioning.kind !== 'keyed' || partitioning.range === null || first === undefined)
    return false;
  const key = expressionKey(first.expression);
  return (
    !first.descending && partitioning.keys[0]?.some((each) => expressionKey(each) === key) === true
  );
}

function orderKey(order: readonly OrderBy[]): string {
  return JSON.stringify(
    order.map(({ expression, descending, nullsFirst }) => [
      expressionKey(expression),
      descending,
      nullsFirst,
    ]),
  );
}

/** Whether equal keys are in the same task of both. */
export function areCoPartitioned(left: KeyedPartitioning, right: KeyedPartitioning): boolean {
  if (left.keys.length !== right.keys.length) return false;
  if (left.range === null || right.range === null) return left.range === right.range;
  return left.range.isSame(right.range);
}

/** The same rows under other columns: `outputs` are the new columns in terms of the old ones. */
export function throughProjection(
  partitioning: Partitioning,
  outputs: readonly Expression[],
): Partitioning {
  return rewrittenKeys(partitioning, (key) => inTermsOf(key, outputs));
}

/** The same rows with all columns shifted by `by` positions. */
export function shifted(partitioning: Partitioning, by: number): Partitioning {
  return rewrittenKeys(partitioning, (key) => moved(key, (at) => at + by));
}

function rewrittenKeys(
  partitioning: Partitioning,
  rewrite: (key: Expression) => Expression | null,
): Partitioning {
  // Only what comes first depends on it.
  if (partitioning.kind === 'ordered') return RANDOM;
  if (partitioning.kind !== 'keyed') return partitioning;
  const keys = partitioning.keys.map((key) => key.map(rewrite).filter((each) => each !== null));
  return keys.every((key) => key.length > 0) ? { ...partitioning, keys } : RANDOM;
}

/** Rewrites an expression over the old columns to the new ones; returns null if it cannot be expressed with them. */
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

/** Whether rows that are equal in all of `groups` are always in the same task. */
export function isPartitionedOn(
  partitioning: Partitioning,
  groups: readonly Expression[],
): boolean {
  if (partitioning.kind === 'ordered') return isDetermined(partitioning.by, groups);
  if (partitioning.kind !== 'keyed') return false;
  return partitioning.keys.every((key) => key.some((each) => isDetermined(each, groups)));
}

/**
 * Whether equal groups imply an equal key: the key is a group, or a function of groups of types in which equal values
 * are identical.
 */
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

/** Adds equivalent keys: wherever a key is `from`, it is `to` as well. */
export function withEquivalentKeys(
  partitioning: Partitioning,
  pairs: readonly { readonly from: Expression; readonly to: Expression }[],
): Partitioning {
  if (partitioning.kind !== 'keyed') return partitioning;
  const keys = partitioning.keys.map((key) => {
    const texts = new Set(key.map(expressionKey));
    const more = pairs.filter(({ from }) => texts.has(expressionKey(from))).map(({ to }) => to);
    return [...key, ...more.filter((each) => !texts.has(expressionKey(each)))];
  });
  return { ...partitioning, keys };
}
