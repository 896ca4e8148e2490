/**
 * What a signal must be like, in as far as the leader knows it: a small part of the schema of a wait, as plain data.
 * A signal that breaks it is refused when it is sent. One that keeps it may still not fit the schema.
 */
import { below as pointerTo } from '../document/refuse.ts';
import { isObject } from '../json.ts';
import type { Json } from '../json.ts';

export const JSON_TYPES = ['null', 'boolean', 'number', 'string', 'array', 'object'] as const;
export type JsonType = (typeof JSON_TYPES)[number];

export interface SignalShape {
  /** Any, without it. */
  readonly types?: readonly JsonType[];
  /** Texts, of which it must be one. */
  readonly texts?: readonly string[];
  /** Of an object: what its fields must be like, and which must be there. */
  readonly fields?: { readonly [name: string]: SignalShape };
  readonly required?: readonly string[];
}

/** A shape is kept in the row of a task that waits: it is a hint, not a place for data. */
export const SHAPE_LENGTH_MAX = 4_096;
const DEPTH_MAX = 6;

/** Null for what is not a shape. Whatever is not known in it makes it none. */
export function readSignalShape(value: unknown, depth = 0): SignalShape | null {
  if (depth > DEPTH_MAX || !isObject(value)) return null;
  if (Object.keys(value).some((key) => !KEYS.has(key))) return null;
  const { types, texts, fields, required } = value;
  if (types !== undefined && !(isTexts(types) && types.every(isJsonType))) return null;
  if (texts !== undefined && !isTexts(texts)) return null;
  if (required !== undefined && !isTexts(required)) return null;
  if (fields !== undefined) {
    if (!isObject(fields)) return null;
    if (Object.values(fields).some((each) => readSignalShape(each, depth + 1) === null))
      return null;
  }
  return value;
}

const KEYS: ReadonlySet<string> = new Set(['types', 'texts', 'fields', 'required']);

export interface ShapeFault {
  /** A JSON Pointer. */
  readonly path: string;
  readonly what: string;
}

/** Null when it may fit. */
export function shapeFault(
  { types, texts, fields, required }: SignalShape,
  value: Json,
  path = '',
): ShapeFault | null {
  if (types !== undefined && !types.includes(typeOf(value))) {
    return { path, what: `must be ${types.join(' or ')}, not ${typeOf(value)}` };
  }
  if (texts !== undefined && typeof value === 'string' && !texts.includes(value)) {
    return { path, what: `must be one of ${texts.slice(0, 10).join(', ')}` };
  }
  if (!isObject(value)) return null;
  const missing = required?.find((name) => !Object.hasOwn(value, name));
  if (missing !== undefined) return { path: pointerTo(path, missing), what: 'is missing' };
  for (const [name, shape] of Object.entries(fields ?? {})) {
    if (!Object.hasOwn(value, name)) continue;
    const fault = shapeFault(shape, value[name] as Json, pointerTo(path, name));
    if (fault !== null) return fault;
  }
  return null;
}

function typeOf(value: Json): JsonType {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value as JsonType;
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}

function isJsonType(text: string): text is JsonType {
  return JSON_TYPES.some((type) => type === text);
}
