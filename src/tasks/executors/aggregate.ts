/**
 * `aggregate` takes `{values, op?, field?}` and makes one value of many. `values` is a list or an object;
 * `field` is a JSON Pointer into each of them. The operations:
 *
 * - `collect`, the default: the values as they are, a list or an object again
 * - `concat`: the items of all values, which are lists
 * - `merge`: the fields of all values, which are objects; of two with one name the later one stays
 * - `count`: how many there are; `sum`, `avg`: of numbers; `min`, `max`: of numbers, or of texts
 *
 * All but `collect` leave nulls out, as what a skipped task gives. Without any value `sum` and `count` are
 * 0, `avg`, `min` and `max` null.
 */
import { isObject, pointedAt, pointerTokens } from '../../scheduler/core/index.ts';
import type { Json, JsonObject } from '../../scheduler/core/index.ts';
import type { Executor } from './executor.ts';
import { Fields, badInput } from './fields.ts';

type Entry = readonly [key: string, value: Json];
type Fold = (entries: readonly Entry[]) => Json;

const FOLDS: Readonly<Record<string, Fold>> = {
  concat: (entries) =>
    entries.flatMap(([key, value]) => {
      if (Array.isArray(value)) return value as readonly Json[];
      throw notA('list', key);
    }),
  merge: (entries) => {
    // Not Object.assign: a field called __proto__ is a field like any other.
    const fields = entries.flatMap(([key, value]) => {
      if (isObject(value)) return Object.entries(value);
      throw notA('object', key);
    });
    return Object.fromEntries(fields);
  },
  count: (entries) => entries.length,
  sum: (entries) => finite(total(entries)),
  avg: (entries) => (entries.length === 0 ? null : finite(total(entries) / entries.length)),
  min: (entries) => extreme(entries, (a, b) => a < b),
  max: (entries) => extreme(entries, (a, b) => a > b),
};

const OPERATIONS = ['collect', ...Object.keys(FOLDS)];

export const aggregateExecutor: Executor = {
  name: 'aggregate',
  run(input) {
    const fields = new Fields(input, ['values', 'op', 'field']);
    const operation = fields.text('op') ?? 'collect';
    if (!OPERATIONS.includes(operation)) {
      fields.refuse('op', 'Not a valid operation.', `There are: ${OPERATIONS.join(', ')}.`);
    }
    const values = fields.value('values');
    if (values === undefined || typeof values !== 'object') {
      return fields.refuse('values', 'Must be a list or an object.');
    }
    const picked = pick(Object.entries(values as JsonObject), fields);
    const fold = FOLDS[operation];
    if (fold !== undefined) return fold(picked.filter(([, value]) => value !== null));
    return Array.isArray(values) ? picked.map(([, value]) => value) : Object.fromEntries(picked);
  },
};

function pick(entries: readonly Entry[], fields: Fields): readonly Entry[] {
  const field = fields.text('field');
  if (field === undefined) return entries;
  const tokens = pointerTokens(field) ?? fields.refuse('field', 'Not a valid JSON Pointer.');
  return entries.map(([key, value]) => {
    // What was skipped has no fields, and that is known to all operations.
    const found = value === null ? null : pointedAt(value, tokens);
    if (found === undefined) throw badInput(`/values/${key}`, `There is no ${field} in it.`);
    return [key, found] as const;
  });
}

function total(entries: readonly Entry[]): number {
  let sum = 0;
  for (const [key, value] of entries) {
    if (typeof value !== 'number') throw notA('number', key);
    sum += value;
  }
  return sum;
}

function finite(number: number): number {
  if (Number.isFinite(number)) return number;
  throw badInput('/values', 'Their sum is larger than any number that JSON can hold.');
}

function extreme(
  entries: readonly Entry[],
  isFirst: (a: string | number, b: string | number) => boolean,
): Json {
  let best: string | number | null = null;
  for (const [key, value] of entries) {
    if (typeof value !== 'number' && typeof value !== 'string') throw notA('number or text', key);
    if (best === null) best = value;
    else if (typeof best !== typeof value) {
      throw badInput(`/values/${key}`, 'Numbers and texts cannot be compared.');
    } else if (isFirst(value, best)) best = value;
  }
  return best;
}

function notA(kind: string, key: string): Error {
  return badInput(`/values/${key}`, `Not a ${kind}.`);
}
