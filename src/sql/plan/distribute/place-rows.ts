/** Operators that compare rows with each other: duplicates, order, windows, set operations. */
import type { Expression } from '../logical/expression.ts';
import type {
  Distinct,
  Limit,
  Relation,
  SetOperation,
  Sort,
  TopN,
  Window,
} from '../logical/relation.ts';
import { sameType } from '../logical/type.ts';
import { Undistributable } from '../logical/undistributable.ts';
import type { PlaceContext } from './context.ts';
import { columnsOf, expressionKey } from './expressions.ts';
import { over, wholeSpread, type Part } from './part.ts';
import { RANDOM, areAlike, hashedBy, isDivided, isDividedBy, type Spread } from './spread.ts';
import { unknownSize, groupCount, type ColumnSize } from './sizes.ts';
import { orderInstability, windowInstability } from './stability.ts';
import { isHashable } from './types.ts';

/** Rows with equal keys come into the same task; if there is nothing to divide by, all of them into one. */
export function together(placing: PlaceContext, part: Part, keys: readonly Expression[]): Part {
  if (!isDivided(part.spread) || isDividedBy(part.spread, keys)) return part;
  const usable = keys.filter(({ type }) => isHashable(type));
  return usable.length === 0 ? placing.draft.gathered(part) : placing.draft.hashed(part, usable);
}

/** Runs an operator over a part as it is. */
function applied(relation: Relation, input: Part, more: Partial<Part> = {}): Part {
  return over([input], { ...input, relation, ...more });
}

export function placeDistinct(placing: PlaceContext, relation: Distinct, input: Part): Part {
  const keys = relation.on ?? columnsOf(input.relation.output);
  const unstable = orderInstability(relation);
  const rows = Math.min(relation.rows ?? input.rows, groupCount(keys, input.columns, input.rows));
  const distinct = (part: Part): Part =>
    applied({ ...relation, input: part.relation }, part, { rows, unstable });
  if (!isDivided(input.spread) || isDividedBy(input.spread, keys)) return distinct(input);
  const before = distinct(input);
  const after = distinct(together(placing, before, keys));
  placing.draft.pair(before.relation, after.relation);
  return after;
}

export function placeWindow(placing: PlaceContext, relation: Window, input: Part): Part {
  const unstable =
    relation.calls
      .map((call) => windowInstability(call, input.relation.output))
      .find((each) => each !== null) ?? null;
  const columns = [...input.columns, ...relation.calls.map(({ type }) => unknownSize(type))];
  const isLocal = relation.calls.every((call) => isDividedBy(input.spread, call.partitionBy));
  const part = isLocal ? input : together(placing, input, sharedKeys(relation));
  return applied({ ...relation, input: part.relation }, part, { columns, unstable });
}

/** What all calls partition by. */
function sharedKeys({ calls }: Window): readonly Expression[] {
  const [first, ...others] = calls.map(({ partitionBy }) => partitionBy);
  const texts = others.map((keys) => new Set(keys.map(expressionKey)));
  return (first ?? []).filter((key) => texts.every((each) => each.has(expressionKey(key))));
}

export function placeSort(placing: PlaceContext, relation: Sort, input: Part): Part {
  const all = placing.draft.gathered(input);
  // Order is only kept where there is one task for sure.
  return applied({ ...relation, input: all.relation }, all, { spread: { kind: 'single' } });
}

/** The first rows of a part. */
function firstRows(relation: TopN | Limit, part: Part): Part {
  const { limit } = relation;
  return applied(relation, part, {
    rows: Math.min(limit ?? part.rows, part.rows),
    unstable: orderInstability(relation),
    isOneRow: part.isOneRow || (limit !== null && limit <= 1),
  });
}

export function placeTopN(placing: PlaceContext, relation: TopN, input: Part): Part {
  const { limit, offset } = relation;
  if (!isDivided(input.spread))
    return asOrdered(firstRows({ ...relation, input: input.relation }, input));
  // Each task may have any of these rows, and none that comes after them is needed of it.
  return asOrdered(inHalves(placing, relation, limit + offset, input));
}

function asOrdered(part: Part): Part {
  return { ...part, spread: { kind: 'single' } };
}

/** Each task takes its first `count` rows; of what comes together, those that are asked for are taken. */
function inHalves(placing: PlaceContext, relation: TopN | Limit, count: number, input: Part): Part {
  // Without a limit, or with one that is none, all rows come together.
  if (!Number.isSafeInteger(count)) {
    const all = placing.draft.gathered(input);
    return firstRows({ ...relation, input: all.relation }, all);
  }
  const first = { ...relation, limit: count, offset: 0, input: input.relation };
  const rows = Math.min(count * placing.draft.partitions, input.rows);
  const before = { ...firstRows(first, input), rows, isOneRow: false };
  const all = placing.draft.gathered(before);
  const after = firstRows({ ...relation, input: all.relation }, all);
  placing.draft.pair(first, after.relation);
  return after;
}

export function placeLimit(placing: PlaceContext, relation: Limit, input: Part): Part {
  const { limit, offset } = relation;
  if (!isDivided(input.spread)) return firstRows({ ...relation, input: input.relation }, input);
  return inHalves(placing, relation, limit === null ? Infinity : limit + offset, input);
}

export function placeSet(
  placing: PlaceContext,
  relation: SetOperation,
  inputs: readonly Part[],
): Part {
  const isUnion = relation.operation === 'union';
  if (!inputs.every(({ relation: { output } }) => haveTypes(output, relation.output)))
    throw new Undistributable('it has a UNION, INTERSECT or EXCEPT of different types');
  if (isUnion && !relation.all) {
    const all = placeSet(placing, { ...relation, all: true }, inputs);
    const { output, rows } = relation;
    const distinct: Distinct = {
      ...{ kind: 'distinct', on: null, order: [], output, rows },
      input: all.relation,
    };
    return placeDistinct(placing, distinct, all);
  }
  if (inputs.every(({ spread }) => !isDivided(spread)))
    return combined(relation, inputs, wholeSpread(inputs));
  if (isUnion) return placeUnion(placing, relation, inputs);
  const keys = columnsOf(relation.output);
  const usable = keys.filter(({ type }) => isHashable(type));
  if (usable.length === 0) {
    const all = inputs.map((input) => placing.draft.gathered(input));
    return combined(relation, all, wholeSpread(all));
  }
  const reduced: Relation[] = [];
  const met = inputs.map((input) => {
    if (isHashedBy(input.spread, usable)) return input;
    if (relation.all) return placing.draft.hashed(input, usable);
    const distinct = withoutDuplicates(input);
    reduced.push(distinct.relation);
    return placing.draft.hashed(distinct, usable);
  });
  const result = combined(relation, met, hashedBy(usable));
  for (const before of reduced) placing.draft.pair(before, result.relation);
  return result;
}

/** Fewer rows travel where duplicates do not count. */
export function withoutDuplicates(input: Part): Part {
  const { output } = input.relation;
  const rows = groupCount(columnsOf(output), input.columns, input.rows);
  const distinct: Distinct = {
    ...{ kind: 'distinct', on: null, order: [], output, rows },
    input: input.relation,
  };
  return applied(distinct, input);
}

function isHashedBy(spread: Spread, keys: readonly Expression[]): boolean {
  if (spread.kind !== 'hash' || spread.division !== null) return false;
  if (spread.keys.length !== keys.length) return false;
  return keys.every((key, at) =>
    spread.keys[at]?.some((each) => expressionKey(each) === expressionKey(key)),
  );
}

function haveTypes(output: Relation['output'], wanted: Relation['output']): boolean {
  return wanted.every((type, at) => output[at] !== undefined && sameType(type, output[at]));
}

/** What every task has in full would come N times: such inputs are divided first. */
function placeUnion(placing: PlaceContext, relation: SetOperation, inputs: readonly Part[]): Part {
  const divided = inputs.map((input) => placing.draft.divided(input));
  return combined(relation, divided, sharedSpread(divided.map(({ spread }) => spread)));
}

function sharedSpread(spreads: readonly Spread[]): Spread {
  const [first, ...others] = spreads;
  if (first?.kind !== 'hash') return RANDOM;
  const keys = first.keys.map((key, place) =>
    key.filter((each) =>
      others.every(
        (other) =>
          other.kind === 'hash' &&
          areAlike(first, other) &&
          other.keys[place]?.some((one) => expressionKey(one) === expressionKey(each)),
      ),
    ),
  );
  return keys.every((key) => key.length > 0) ? { ...first, keys } : RANDOM;
}

function combined(relation: SetOperation, inputs: readonly Part[], spread: Spread): Part {
  const sum = inputs.reduce((rows, input) => rows + input.rows, 0);
  const isUnion = relation.operation === 'union';
  return over(inputs, {
    relation: { ...relation, inputs: inputs.map((input) => input.relation) },
    spread,
    rows: relation.rows ?? (isUnion ? sum : (inputs[0]?.rows ?? 0)),
    columns: unionColumns(inputs),
    unstable: null,
    isOneRow: false,
  });
}

function unionColumns(inputs: readonly Part[]): readonly ColumnSize[] {
  const [first, ...others] = inputs;
  return (first?.columns ?? []).map(({ width, distinct }, at) => ({
    width: Math.max(width, ...others.map(({ columns }) => columns[at]?.width ?? 0)),
    distinct: others.reduce((sum, { columns }) => sum + (columns[at]?.distinct ?? 0), distinct),
  }));
}
