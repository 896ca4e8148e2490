/**
 * Bounds the work before any of it is done: how long a value is as JSON text and how deep it goes.
 * The value may come from a program and not from a parser, so it may contain itself, or the same
 * object a million times; the walk ends as soon as a bound is passed.
 */
import { below, refuse, refuseSize } from './refuse.ts';
import { jsonStringBytes } from './text.ts';

/** Lists and objects inside each other, counted from the input's own outermost one. */
export const DEPTH_MAX = 200;

/** How much of the path of a value that is too deep is worth showing: `/tasks/0/input`. */
const SHOWN_KEYS = 3;

interface Scale {
  readonly bytesMax: number;
  readonly depthMax: number;
  readonly path: string;
  readonly what: string;
  /** All of it, for messages. */
  readonly value: unknown;
  /** How many containers the current value is in. */
  depth: number;
  bytes: number;
}

/** The bytes of the value as compact JSON. `outer` is how deep an input may be nested inside it. */
export function weigh(
  value: unknown,
  path: string,
  what: string,
  outer: number,
  bytesMax: number,
): number {
  const depthMax = DEPTH_MAX + outer;
  const scale: Scale = { bytesMax, depthMax, path, what, value, depth: 0, bytes: 0 };
  add(scale, value);
  return scale.bytes;
}

function add(scale: Scale, value: unknown): void {
  if (typeof value === 'string') {
    // The length alone is enough to refuse a huge one without reading it.
    count(scale, value.length);
    count(scale, jsonStringBytes(value) - value.length);
  } else if (typeof value === 'object' && value !== null) {
    enter(scale, value);
  } else if (typeof value === 'number') {
    count(scale, String(value).length);
  } else {
    count(scale, value === false ? 5 : 4);
  }
}

function enter(scale: Scale, container: object): void {
  scale.depth += 1;
  if (scale.depth > scale.depthMax) tooDeep(scale);
  count(scale, 2);
  if (Array.isArray(container)) {
    const list = container as readonly unknown[];
    for (let at = 0; at < list.length; at += 1) {
      add(scale, list[at]);
      count(scale, at === 0 ? 0 : 1);
    }
  } else {
    addFields(scale, container as Readonly<Record<string, unknown>>);
  }
  scale.depth -= 1;
}

function addFields(scale: Scale, object: Readonly<Record<string, unknown>>): void {
  let comma = 0;
  for (const key of Object.keys(object)) {
    const value = object[key];
    if (value === undefined || typeof value === 'function') continue;
    count(scale, jsonStringBytes(key) + 1 + comma);
    add(scale, value);
    comma = 1;
  }
}

function count(scale: Scale, bytes: number): void {
  scale.bytes += bytes;
  if (scale.bytes <= scale.bytesMax) return;
  refuseSize(
    scale.path,
    `${scale.what} is larger than ${scale.bytesMax} bytes as JSON.`,
    'Split it, or pass large data by reference.',
  );
}

function tooDeep({ value, depthMax, path }: Scale): never {
  const way: Way = { around: [], keys: [] };
  descend(value, depthMax, way);
  // Only a value that contains itself can stand around itself.
  const again = new Set(way.around).size < way.around.length;
  refuse(
    way.keys.slice(0, SHOWN_KEYS).reduce<string>(below, path),
    again
      ? 'Contains itself, so it has no JSON form.'
      : `Is nested deeper than ${DEPTH_MAX} levels.`,
    'Pass plain data.',
  );
}

/** Containers in each other, and the keys that lead to them. */
interface Way {
  readonly around: object[];
  readonly keys: (string | number)[];
}

/** The first way to something deeper than that, as it was met. Looked for only when there is one: to note the way of
 * all that is weighed would cost more than to weigh it. */
function descend(value: unknown, depthMax: number, way: Way): boolean {
  const { around, keys } = way;
  if (typeof value !== 'object' || value === null) return false;
  around.push(value);
  if (around.length > depthMax) return true;
  // By place: a list may be long, and was not too large.
  const names = Array.isArray(value) ? null : Object.keys(value);
  const size = names === null ? (value as readonly unknown[]).length : names.length;
  for (let at = 0; at < size; at += 1) {
    const key = names === null ? at : (names[at] as string);
    keys.push(key);
    if (descend((value as Record<string | number, unknown>)[key], depthMax, way)) return true;
    keys.pop();
  }
  around.pop();
  return false;
}

/** Refuses numbers that JSON cannot have, of which it would silently make null. The value was weighed before. */
export function checkFinite(value: unknown, path: string): void {
  JSON.stringify(value, (key, each: unknown) => {
    if (typeof each === 'number' && !Number.isFinite(each)) {
      const at = key === '' ? path : below(path, key);
      refuse(at, `${each} is not a JSON number.`, 'Use null or text for it.');
    }
    return each;
  });
}
