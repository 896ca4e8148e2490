/**
 * Which events are meant: those of a name whose data has these values in these fields. Written as an object of fields,
 * `{ "order.id": "A-7" }`; kept as a list of pairs, because stores look for fields in the text around it.
 */
import { isObject } from '../json.ts';
import type { Json } from '../json.ts';
import { pointedAt } from './pointer.ts';
import { below, refuse } from './refuse.ts';
import { described, wellFormed } from './text.ts';

export type Scalar = string | number | boolean | null;

/** A field, as names that are joined by dots, and its value. All of them must be as said; none of them: every event. */
export type EventMatch = readonly (readonly [field: string, value: Scalar])[];

export const MATCH_FIELDS_MAX = 8;
export const FIELD_LENGTH_MAX = 200;
const VALUE_LENGTH_MAX = 500;

/** The fields and values of an object. */
export function readEventMatch(value: unknown, path: string): EventMatch {
  if (value === undefined) return [];
  if (!isObject(value)) {
    return refuse(
      path,
      `Must be an object of fields and values, not ${described(value)}.`,
      "Write { 'order.id': 'A-7' }.",
    );
  }
  const entries = Object.entries(value);
  if (entries.length > MATCH_FIELDS_MAX)
    refuse(path, `${entries.length} fields exceed the limit of ${MATCH_FIELDS_MAX} fields.`);
  return entries.map(([field, each]) => {
    readEventField(field, path);
    return [field, readScalar(each, below(path, field))] as const;
  });
}

/** Whether it is a match as it is kept. */
export function isEventMatch(value: unknown): value is EventMatch {
  if (!Array.isArray(value) || value.length > MATCH_FIELDS_MAX) return false;
  return (value as readonly unknown[]).every(
    (each) => Array.isArray(each) && each.length === 2 && isField(each[0]) && isScalar(each[1]),
  );
}

export function readEventField(value: unknown, path: string): string {
  if (isField(value)) return value;
  return refuse(
    path,
    `${described(value)} is not a field of an event.`,
    `Write the names of fields, joined by dots: order.id. The limit is ${FIELD_LENGTH_MAX} characters.`,
  );
}

function readScalar(value: unknown, path: string): Scalar {
  if (isScalar(value)) return value;
  return refuse(
    path,
    `Must be text of up to ${VALUE_LENGTH_MAX} characters, a number, true, false or null, not ${described(value)}.`,
    'Events are compared by equality of single values.',
  );
}

function isField(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    value.length <= FIELD_LENGTH_MAX &&
    value.split('.').every((name) => name !== '') &&
    isText(value)
  );
}

/** Whether events can be compared with it. */
export function isScalar(value: unknown): value is Scalar {
  if (typeof value === 'string') return value.length <= VALUE_LENGTH_MAX && isText(value);
  return value === null || typeof value === 'boolean' || Number.isFinite(value);
}

function isText(text: string): boolean {
  return wellFormed(text) && !text.includes('\0');
}

/** What the event has in the field; undefined when it has none, and then it is not meant. */
export function fieldIn(data: Json, field: string): Json | undefined {
  return pointedAt(data, field.split('.'));
}

export function isMatched(match: EventMatch, data: Json): boolean {
  return match.every(([field, value]) => fieldIn(data, field) === value);
}
