/** The position of a value in JSON text. */

const SPACE: ReadonlySet<string | undefined> = new Set([' ', '\t', '\n', '\r']);

/**
 * The offset of what the keys lead to, or of the nearest thing around it when there is no such place.
 * An object or list in a field is shown by its key, which is what a reader looks for.
 */
export function jsonPlace(text: string, keys: readonly string[]): number {
  let value = skipSpace(text, 0);
  let shown = value;
  for (const key of keys) {
    const found = text[value] === '[' ? item(text, value, key) : field(text, value, key);
    if (found === null) return shown;
    ({ value } = found);
    shown = text[value] === '{' || text[value] === '[' ? found.key : value;
  }
  return shown;
}

interface Found {
  /** Where its key begins; in a list, where it begins itself. */
  readonly key: number;
  readonly value: number;
}

function item(text: string, list: number, key: string): Found | null {
  if (!/^\d+$/.test(key)) return null;
  let left = Number(key);
  let at = skipSpace(text, list + 1);
  while (at < text.length && text[at] !== ']') {
    if (left === 0) return { key: at, value: at };
    left -= 1;
    at = skipSpace(text, skipValue(text, at));
    if (text[at] === ',') at = skipSpace(text, at + 1);
  }
  return null;
}

/** Of a key that is there twice the last one counts, as it does for `JSON.parse`. */
function field(text: string, object: number, key: string): Found | null {
  if (text[object] !== '{') return null;
  let found: Found | null = null;
  let at = skipSpace(text, object + 1);
  while (text[at] === '"') {
    const end = skipString(text, at);
    const value = skipSpace(text, skipSpace(text, end) + 1);
    if (JSON.parse(text.slice(at, end)) === key) found = { key: at, value };
    at = skipSpace(text, skipValue(text, value));
    if (text[at] === ',') at = skipSpace(text, at + 1);
  }
  return found;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (SPACE.has(text[at])) at += 1;
  return at;
}

function skipString(text: string, from: number): number {
  let at = from + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}

function skipValue(text: string, from: number): number {
  let depth = 0;
  let at = from;
  while (at < text.length) {
    const mark = text[at] ?? '';
    if (mark === '"') {
      at = skipString(text, at);
      if (depth === 0) return at;
      continue;
    }
    if (mark === '{' || mark === '[') depth += 1;
    else if (depth === 0 && /[\s,\]}]/.test(mark)) return at;
    else if (mark === '}' || mark === ']') {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
    at += 1;
  }
  return at;
}
