/** The position of a syntax error in JSON. The message of `JSON.parse` has it for some errors only. */

const SPACE = /[ \t\n\r]*/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const ATOM = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.+-])/y;

/** What may come next: a value (or the end of an empty list), a key, or what follows a value. */
type Next = 'value' | 'first' | 'firstKey' | 'key' | 'after';

/** The offset of the first character that cannot stand where it stands; the length when the end is missing. */
export function jsonFaultAt(text: string): number {
  const open: ('[' | '{')[] = [];
  let next: Next = 'value';
  let at = 0;
  const take = (pattern: RegExp): boolean => {
    pattern.lastIndex = at;
    if (!pattern.test(text)) return false;
    at = pattern.lastIndex;
    return true;
  };
  /** By hand: a pattern for a string of megabytes would need more stack than there is. */
  const takeString = (): boolean => {
    if (text[at] !== '"') return false;
    at += 1;
    while (at < text.length && text[at] !== '"') {
      if (text.charCodeAt(at) < 0x20) return false;
      if (text[at] !== '\\') at += 1;
      else if (!take(ESCAPE)) return false;
    }
    at += 1;
    return at <= text.length;
  };
  for (;;) {
    take(SPACE);
    const mark = text[at];
    const inside = open.at(-1);
    if (mark === undefined) return at;
    if ((next === 'after' || next === 'first') && mark === ']' && inside === '[') {
      open.pop();
      next = 'after';
      at += 1;
    } else if ((next === 'after' || next === 'firstKey') && mark === '}' && inside === '{') {
      open.pop();
      next = 'after';
      at += 1;
    } else if (next === 'after') {
      if (mark !== ',' || inside === undefined) return at;
      next = inside === '{' ? 'key' : 'value';
      at += 1;
    } else if (next === 'key' || next === 'firstKey') {
      if (!takeString()) return Math.min(at, text.length);
      take(SPACE);
      if (text[at] !== ':') return at;
      next = 'value';
      at += 1;
    } else if (mark === '[' || mark === '{') {
      open.push(mark);
      next = mark === '[' ? 'first' : 'firstKey';
      at += 1;
    } else {
      const isGood = mark === '"' ? takeString() : take(ATOM);
      if (!isGood) return Math.min(at, text.length);
      next = 'after';
    }
  }
}

/** As an editor counts. */
export function lineAndColumn(text: string, at: number): string {
  const before = text.slice(0, at).split('\n');
  return `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
}
