/** How deep JSON may go. The walk keeps its own stack: what it looks for would overflow the platform's. */
import { MillraceError } from '../errors.ts';
import { below } from './refuse.ts';

/** How much of the path of a value that is too deep is worth showing. */
const SHOWN_KEYS = 3;

interface Place {
  readonly value: object;
  readonly depth: number;
  /** Null for the outermost value. */
  readonly parent: Place | null;
  readonly key: string | number;
}

/** Refuses a value with lists and objects more than `depthMax` levels inside each other. */
export function checkDepth(value: unknown, depthMax: number): void {
  if (typeof value !== 'object' || value === null) return;
  const open: Place[] = [{ value, depth: 1, parent: null, key: '' }];
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    if (place.depth > depthMax) tooDeep(place, depthMax);
    for (const [key, each] of Object.entries(place.value)) {
      if (typeof each !== 'object' || each === null) continue;
      open.push({ value: each as object, depth: place.depth + 1, parent: place, key });
    }
  }
}

function tooDeep(deepest: Place, depthMax: number): never {
  const keys: (string | number)[] = [];
  for (let place = deepest; place.parent !== null; place = place.parent) keys.push(place.key);
  const shown = keys.toReversed().slice(0, SHOWN_KEYS);
  refuseDepth(
    shown.reduce<string>((at, key) => below(at, key), ''),
    depthMax,
  );
}

function refuseDepth(path: string, depthMax: number): never {
  throw new MillraceError({
    code: 'bad_input',
    path,
    what: `Is nested deeper than ${depthMax} levels.`,
    todo: 'Pass plain data.',
  });
}

/** Of longer text that is too deep, the place is not looked for: it would have to be parsed, which takes seconds. */
const PLACED_CHARS_MAX = 64 * 1024;

/** JSON text that is nested `depthMax` levels deep at most. Throws `bad_input` for a deeper one, and what `JSON.parse` throws. */
export function parseShallow(text: string, depthMax: number): unknown {
  const isDeep = mayBeDeep(text, depthMax);
  if (isDeep && text.length > PLACED_CHARS_MAX) refuseDepth('', depthMax);
  const value: unknown = JSON.parse(text);
  if (isDeep) checkDepth(value, depthMax);
  return value;
}

/** A quick look at JSON text: false when it cannot go deeper than `depthMax`. */
export function mayBeDeep(text: string, depthMax: number): boolean {
  // A level takes two characters.
  if (text.length <= depthMax * 2) return false;
  let depth = 0;
  let isQuoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) isQuoted = !isQuoted;
    else if (isQuoted) at += unit === BACKSLASH ? 1 : 0;
    else if (unit === OPEN_LIST || unit === OPEN_OBJECT) {
      depth += 1;
      if (depth > depthMax) return true;
    } else if (unit === CLOSE_LIST || unit === CLOSE_OBJECT) depth -= 1;
  }
  return false;
}

const [QUOTE, BACKSLASH] = [0x22, 0x5c] as const;
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d] as const;
