/** What a handler returns, as the text that is sent: JSON or a clear refusal. */
export type JsonText =
  | { readonly isJson: true; readonly text: string }
  | {
      readonly isJson: false;
      /** The end of a sentence. */
      readonly fault: string;
      /** What was thrown when it was written down, if anything was. */
      readonly cause?: unknown;
    };

/** `undefined` is null, as in `return;`, and a field that is undefined or a function is left out, as the types of
 * results say. Anything else that JSON cannot hold would be lost silently, and is refused. */
export function jsonText(value: unknown): JsonText {
  if (value === undefined) return { isJson: true, text: 'null' };
  try {
    const text = JSON.stringify(value) as string | undefined;
    const fault =
      sentence(lossIn(value, null)) ?? (text === undefined ? 'has no JSON representation' : null);
    return fault === null ? { isJson: true, text: text ?? 'null' } : { isJson: false, fault };
  } catch (cause) {
    const fault = obstacleIn(value) ?? `is not JSON: ${reason(cause)}`;
    return { isJson: false, fault, cause };
  }
}

/** For a value that JSON has refused: where the obstacle lies. */
function obstacleIn(value: unknown): string | null {
  try {
    return sentence(lossIn(value, new Set()));
  } catch {
    return null;
  }
}

interface Loss {
  readonly what: string;
  readonly todo: string;
  /** Inside out: it is written down only on the way back. */
  readonly path: string[];
}

/** With `above`, the objects around this one, also what makes JSON itself give up is looked for. */
function lossIn(value: unknown, above: Set<object> | null): Loss | null {
  switch (typeof value) {
    case 'number':
      return Number.isFinite(value) ? null : loss(`${value}`, 'use null or text for it');
    case 'bigint':
      // Somebody may have taught bigints to be JSON.
      return above === null ? null : loss('a bigint', 'make it a text');
    case 'symbol':
    case 'function':
      return loss(`a ${typeof value}`, 'use plain data');
    case 'object':
      return value === null ? null : lossInObject(value, above);
    case 'string':
    case 'boolean':
    case 'undefined':
    default:
      return null;
  }
}

function lossInObject(value: object, above: Set<object> | null): Loss | null {
  if (above?.has(value) === true) return loss('a circular reference', 'use plain data');
  if (Array.isArray(value)) return lossInList(value, above);
  const prototype: unknown = Object.getPrototypeOf(value);
  const said = (value as { toJSON?: unknown }).toJSON;
  if (typeof said === 'function') {
    if (value instanceof Date && Number.isNaN(value.getTime())) {
      return loss('an invalid date', 'use null for it');
    }
    return lossIn((value as { toJSON(): unknown }).toJSON(), above);
  }
  if (prototype !== Object.prototype && prototype !== null) {
    const [, tag = ''] = /^\[object (.*)\]$/.exec(Object.prototype.toString.call(value)) ?? [];
    const todo = ArrayBuffer.isView(value) ? BYTES : EMPTIED.get(tag);
    if (todo !== undefined) return loss(/^[AEIO]/.test(tag) ? `an ${tag}` : `a ${tag}`, todo);
  }
  return lossInFields(value as Readonly<Record<string, unknown>>, above);
}

const LIST = 'make it a list or a plain object';
const BYTES = 'make it a list or base64 text';

/** JSON turns these into an empty object, or one that cannot be read again. */
const EMPTIED: ReadonlyMap<string, string> = new Map([
  ...['Map', 'Set', 'WeakMap', 'WeakSet', 'WeakRef', 'Generator', 'AsyncGenerator'].map(
    (tag) => [tag, LIST] as const,
  ),
  ...['Map Iterator', 'Set Iterator', 'Array Iterator'].map((tag) => [tag, LIST] as const),
  ...['ArrayBuffer', 'SharedArrayBuffer'].map((tag) => [tag, BYTES] as const),
  ['Promise', 'await it'],
  ['Error', 'use its message'],
  ['RegExp', 'use its source'],
]);

function lossInList(list: readonly unknown[], above: Set<object> | null): Loss | null {
  above?.add(list);
  for (let at = 0; at < list.length; at += 1) {
    const found = lossIn(list[at], above);
    if (found !== null) return below(`${at}`, found);
  }
  above?.delete(list);
  return null;
}

function lossInFields(
  whole: Readonly<Record<string, unknown>>,
  above: Set<object> | null,
): Loss | null {
  above?.add(whole);
  for (const key of Object.keys(whole)) {
    const value = whole[key];
    // Left out, as methods are. In a list it would leave a hole.
    const found = typeof value === 'function' ? null : lossIn(value, above);
    if (found !== null) return below(key, found);
  }
  above?.delete(whole);
  return null;
}

function below(key: string, found: Loss): Loss {
  found.path.push(key);
  return found;
}

function loss(what: string, todo: string): Loss {
  return { what, todo, path: [] };
}

const PATH_LENGTH_MAX = 200;

function sentence(found: Loss | null): string | null {
  if (found === null) return null;
  const { what, todo } = found;
  if (found.path.length === 0) return `is ${what}, which is not JSON; ${todo}`;
  const path = found.path.toReversed().map(token).join('');
  const shown = path.length > PATH_LENGTH_MAX ? `${path.slice(0, PATH_LENGTH_MAX)}...` : path;
  return `has ${what} at ${shown}, which is not JSON; ${todo}`;
}

/** One part of a JSON Pointer. */
function token(key: string): string {
  return `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** The first sentence: engines draw the way of a cycle below it. */
function reason(error: unknown): string {
  if (error instanceof RangeError) return 'it is nested too deeply';
  const message = error instanceof Error ? error.message : String(error);
  return message.split('\n', 1)[0] ?? message;
}
