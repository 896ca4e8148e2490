/** What may be text in a document, and how much room it takes. Works on plain strings: the core
 * has no encoder of the platform at hand. */

/** Names, keys and executor names: long enough for people, short enough for an index. */
export const NAME_LENGTH_MAX = 200;

/** A lone surrogate has no UTF-8 form, so a database would refuse it or change it silently. */
const LONE_SURROGATE = /\p{Cs}/u;
const CONTROL = /\p{Cc}/u;
const UNPRINTABLE = /[\p{Cc}\p{Cs}]/gu;

export function wellFormed(text: string): boolean {
  return !LONE_SURROGATE.test(text);
}

/** The length of the text in UTF-8. A lone surrogate counts as the three bytes that replace it. */
export function utf8Bytes(text: string): number {
  let bytes = text.length;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit < 0x80) continue;
    // A surrogate pair is two units and four bytes: two more for the pair, then past its half.
    bytes += unit < 0x800 ? 1 : 2;
    if (unit >= 0xd800 && unit < 0xdc00 && isLowSurrogate(text.charCodeAt(at + 1))) at += 1;
  }
  return bytes;
}

/** The bytes that `JSON.stringify` would need for this string, quotes included. */
export function jsonStringBytes(text: string): number {
  let bytes = text.length + 2;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit < 0x20)
      bytes += unit === 8 || unit === 9 || unit === 10 || unit === 12 || unit === 13 ? 1 : 5;
    else if (unit === 0x22 || unit === 0x5c) bytes += 1;
    else if (unit < 0x80) continue;
    else if (unit < 0x800) bytes += 1;
    else if (unit < 0xd800 || unit > 0xdfff) bytes += 2;
    else if (unit < 0xdc00 && isLowSurrogate(text.charCodeAt(at + 1))) {
      bytes += 2;
      at += 1;
    } else bytes += 5;
  }
  return bytes;
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}

/** Why this text cannot be a name, or null if it can. Names appear in log lines and on terminals, so they contain no
 * control characters at all. */
export function nameFault(text: string): string | null {
  if (text === '') return 'is empty';
  if (text.length > NAME_LENGTH_MAX) {
    return `is ${text.length} characters long; the limit is ${NAME_LENGTH_MAX}`;
  }
  if (CONTROL.test(text)) return 'contains a control character';
  if (!wellFormed(text)) return 'contains an unpaired surrogate';
  return null;
}

/** Text that is safe to show and to store: an error message about a bad string must not carry the
 * very characters that made it bad. */
export function printable(text: string, lengthMax: number): string {
  const shown = text.length > lengthMax ? `${text.slice(0, lengthMax)}...` : text;
  return shown.replace(UNPRINTABLE, '\uFFFD');
}

/** A value as a person would name it in a sentence. */
export function described(value: unknown): string {
  if (typeof value === 'string') return `'${printable(value, 60)}'`;
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'an object';
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'bigint') return `the bigint ${value}n`.slice(0, 60);
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return value === undefined ? 'undefined' : 'a symbol';
}
