/**
 * Checks a task's input and turns it into the text that is stored. The input is plain JSON in
 * which `{ "$from": task, "path": pointer }` stands for a part of a dependency's result. Nothing
 * that JSON would drop or change without a word gets through.
 */
import { below, refuse, refuseSize } from './refuse.ts';
import { pointerTokens } from './pointer.ts';
import { didYouMean } from './spelling.ts';
import { described, utf8Bytes } from './text.ts';

/** The key that makes an object a reference. */
export const FROM = '$from';

/** What the references of one input are checked against. */
export interface Referable {
  readonly isDependency: (id: string) => boolean;
  /** All ids of the document, to guess what was meant. */
  readonly ids: () => Iterable<string>;
}

/** The input as JSON text. It was weighed before, so its depth is bounded. */
export function readInput(
  value: unknown,
  path: string,
  referable: Referable,
  bytesMax: number,
): string {
  check(value, path, referable);
  const text = JSON.stringify(value);
  const bytes = utf8Bytes(text);
  if (bytes > bytesMax) {
    refuseSize(
      path,
      `The input is ${bytes} bytes as JSON, ${bytesMax} are allowed.`,
      'Store the data elsewhere and pass where it is.',
    );
  }
  return text;
}

function check(value: unknown, path: string, referable: Referable): void {
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
      return refuse(path, 'undefined is not a JSON value.', 'Leave the field out, or use null.');
    case 'bigint':
    case 'symbol':
    case 'function':
      return refuse(path, `${described(value)} is not a JSON value.`, 'Pass plain data.');
    default:
      return undefined;
  }
}

function checkList(list: readonly unknown[], path: string, referable: Referable): void {
  for (let at = 0; at < list.length; at += 1) {
    const value = list[at];
    if (isPlain(value)) continue;
    check(value, below(path, at), referable);
  }
}

function checkObject(object: object, path: string, referable: Referable): void {
  const prototype: unknown = Object.getPrototypeOf(object);
  // Plain objects, of whatever realm. A Date, a Map or an instance would be stored as something else.
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
    const name = (object as { readonly constructor?: { readonly name?: unknown } }).constructor
      ?.name;
    const kind = typeof name === 'string' && name !== '' ? described(name) : 'a class';
    refuse(path, `An instance of ${kind} is not plain JSON.`, 'Pass plain objects and lists.');
  }
  const fields = object as Readonly<Record<string, unknown>>;
  if (Object.hasOwn(fields, FROM)) return checkReference(fields, path, referable);
  for (const key of Object.keys(fields)) {
    const value = fields[key];
    if (isPlain(value)) continue;
    check(value, below(path, key), referable);
  }
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

function checkReference(
  fields: Readonly<Record<string, unknown>>,
  path: string,
  referable: Referable,
): void {
  for (const key of Object.keys(fields)) {
    if (key === FROM || key === 'path') continue;
    refuse(
      below(path, key),
      `A reference has no field ${described(key)}.`,
      `An object with '${FROM}' may have 'path' beside it and nothing else.`,
    );
  }
  const from = fields[FROM];
  if (typeof from !== 'string' || !referable.isDependency(from)) {
    const hint = typeof from === 'string' ? didYouMean(from, referable.ids()) : '';
    refuse(
      below(path, FROM),
      `${described(from)} is not a dependency of this task.${hint}`,
      "Name it in the task's dependsOn first.",
    );
  }
  if (!Object.hasOwn(fields, 'path')) return;
  const pointer = fields['path'];
  if (typeof pointer === 'string' && pointerTokens(pointer) !== null) return;
  refuse(
    below(path, 'path'),
    `${described(pointer)} is not a JSON Pointer.`,
    "Write '/body/rows/0'; ~ in a key is ~0 and / is ~1. Leave it out to take the whole result.",
  );
}
