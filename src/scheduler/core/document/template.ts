/**
 * Checks a task's input, or a job's output, and turns it into the stored text: plain JSON in which `{ "$from": task,
 * "path": pointer }` refers to a part of a task's result. Anything that JSON would silently drop or change is
 * refused.
 */
import type { Json } from '../json.ts';
import { below, refuse, refuseSize } from './refuse.ts';
import { pointerTokens } from './pointer.ts';
import { didYouMean } from './spelling.ts';
import { described, utf8Bytes } from './text.ts';

/** The key that makes an object a reference. */
export const FROM = '$from';
/** The key that marks its value as data, whatever it looks like. */
export const LITERAL = '$literal';
/** What becomes of a reference to a field that the result does not have; without it, the task fails. */
export const MISSING = ['omit', 'null'] as const;

/** Data as it is written in a template: never read as a reference. */
export function asLiteral(data: Json): Json {
  const text = JSON.stringify(data);
  const mayMislead = text.includes(`"${FROM}"`) || text.includes(`"${LITERAL}"`);
  return mayMislead ? { [LITERAL]: data } : data;
}

/** What the references of one template are checked against. */
export interface Referable {
  readonly mayName: (id: string) => boolean;
  /** All ids of the document, to guess what was meant. */
  readonly ids: () => Iterable<string>;
  /** What is to be said of a name that it may not use: what is wrong with it, and what to do. */
  readonly fault: string;
  readonly todo: string;
}

/** For values that are data and nothing else. */
const NOTHING: Referable = {
  mayName: () => false,
  ids: () => [],
  fault: 'cannot stand here: a condition compares a result with a plain value',
  todo: 'Compare with a number, text, true, false, null or plain data.',
};

/** JSON without references. */
export function checkPlain(value: unknown, path: string): void {
  check(value, path, NOTHING);
}

/** The template as JSON text. It was weighed before, so its depth is bounded. */
export function readTemplate(value: unknown, path: string, referable: Referable): string {
  check(value, path, referable);
  return JSON.stringify(value);
}

/** `what` names the text in the message ("The input"). */
export function checkSize(text: string | null, path: string, what: string, bytesMax: number): void {
  if (text === null) return;
  const bytes = utf8Bytes(text);
  if (bytes <= bytesMax) return;
  refuseSize(
    path,
    `${what} is ${bytes} bytes as JSON; the limit is ${bytesMax}.`,
    'Store the data elsewhere, and pass its location.',
  );
}

/** `referable` is null within a literal, where nothing is a reference. */
function check(value: unknown, path: string, referable: Referable | null): void {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return;
    case 'number':
      if (Number.isFinite(value)) return;
      return refuse(path, `${value} is not a JSON number.`, 'Use null or text for it.');
    case 'object':
      if (value === null) return;
      if (Array.isArray(value)) return checkList(value as readonly unknown[], path, referable);
      return checkObject(value, path, referable);
    case 'undefined':
      return refuse(path, 'undefined is not a JSON value.', 'Omit the field, or use null.');
    case 'bigint':
    case 'symbol':
    case 'function':
      return refuse(path, `${described(value)} is not a JSON value.`, 'Pass plain data.');
    default:
      return undefined;
  }
}

function checkList(list: readonly unknown[], path: string, referable: Referable | null): void {
  for (let at = 0; at < list.length; at += 1) {
    const value = list[at];
    if (isPlain(value)) continue;
    check(value, below(path, at), referable);
  }
}

function checkObject(object: object, path: string, referable: Referable | null): void {
  const prototype: unknown = Object.getPrototypeOf(object);
  // Plain objects, of whatever realm. A Date, a Map or an instance would be stored as something else.
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
    const name = (object as { readonly constructor?: { readonly name?: unknown } }).constructor
      ?.name;
    const kind = typeof name === 'string' && name !== '' ? described(name) : 'a class';
    refuse(path, `An instance of ${kind} is not plain JSON.`, 'Pass plain objects and lists.');
  }
  const fields = object as Readonly<Record<string, unknown>>;
  if (referable !== null && Object.hasOwn(fields, FROM)) {
    return checkReference(fields, path, referable);
  }
  if (referable !== null && Object.hasOwn(fields, LITERAL)) return checkLiteral(fields, path);
  for (const key of Object.keys(fields)) {
    const value = fields[key];
    if (isPlain(value)) continue;
    check(value, below(path, key), referable);
  }
}

function checkLiteral(fields: Readonly<Record<string, unknown>>, path: string): void {
  const other = Object.keys(fields).find((key) => key !== LITERAL);
  if (other !== undefined) {
    refuse(
      below(path, other),
      `A literal has no field ${described(other)}.`,
      `An object with '${LITERAL}' stands for what it holds and has nothing beside it.`,
    );
  }
  check(fields[LITERAL], below(path, LITERAL), null);
}

/** The common leaves, decided without building a path for them. */
function isPlain(value: unknown): boolean {
  return (
    typeof value === 'string' ||
    typeof value === 'boolean' ||
    value === null ||
    (typeof value === 'number' && Number.isFinite(value))
  );
}

/** An object with `$from`: the task, and the path in its result. */
export function checkReference(
  fields: Readonly<Record<string, unknown>>,
  path: string,
  referable: Referable,
): void {
  for (const key of Object.keys(fields)) {
    if (key === FROM || key === 'path' || key === 'missing' || key === 'error') continue;
    refuse(
      below(path, key),
      `A reference has no field ${described(key)}.`,
      `An object with '${FROM}' may have 'path', 'missing' and 'error' beside it and nothing else.`,
    );
  }
  const from = fields[FROM];
  if (typeof from !== 'string' || !referable.mayName(from)) {
    const hint = typeof from === 'string' ? didYouMean(from, referable.ids()) : '';
    refuse(below(path, FROM), `${described(from)} ${referable.fault}.${hint}`, referable.todo);
  }
  const missing = fields['missing'];
  if (missing !== undefined && !MISSING.some((each) => each === missing))
    refuse(below(path, 'missing'), `Must be 'omit' or 'null', not ${described(missing)}.`);
  if (fields['error'] !== undefined && fields['error'] !== true)
    refuse(below(path, 'error'), `Must be true, not ${described(fields['error'])}.`);
  if (!Object.hasOwn(fields, 'path')) return;
  const pointer = fields['path'];
  if (typeof pointer === 'string' && pointerTokens(pointer) !== null) return;
  refuse(
    below(path, 'path'),
    `${described(pointer)} is not a JSON Pointer.`,
    "Write '/body/rows/0'; ~ in a key is ~0 and / is ~1. Omit it to take the whole result.",
  );
}
