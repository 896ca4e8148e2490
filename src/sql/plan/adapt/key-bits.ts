/**
 * A set of keys as a bitmap: the bit of a value is the remainder of its hash. Values that are not in the set may share a
 * bit with one that is, so it lets some of them pass, and never one too few. Its length is a power of two.
 */

/** For a filter: 32 KiB, which is 44 KB as text in the input of every task that it filters. */
const BITS_MAX = 2 ** 18;
/** For all tasks that report keys of one filter: each of these is stored. */
const ALL_BITS_MAX = 2 ** 22;
const BITS_MIN = 2 ** 13;
/** With as many bits for a key, one of eight others passes. */
const BITS_PER_KEY = 8;
/** With fewer bits for a key, too many others pass. */
const BITS_PER_KEY_MIN = 2;

/**
 * How many bits each of `tasks` tasks uses for its keys, if it has `keys`; null if that would be too many. Each must
 * leave room for the keys of the others.
 */
export function bitCount(keys: number, tasks: number): number | null {
  const most = Math.max(
    BITS_MIN,
    Math.min(BITS_MAX, 2 ** Math.floor(Math.log2(ALL_BITS_MAX / tasks))),
  );
  if (keys * tasks * BITS_PER_KEY_MIN > most) return null;
  const enough = 2 ** Math.ceil(Math.log2(Math.max(1, keys * tasks * BITS_PER_KEY)));
  return Math.max(BITS_MIN, Math.min(most, enough));
}

/** Whether a text is a bitmap in base64, of a length that `bitCount` gives. */
export function isBitText(text: string): boolean {
  const bytes = (text.length / 4) * 3 - (text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0);
  const isLength = Number.isInteger(Math.log2(bytes)) && bytes * 8 >= BITS_MIN;
  return isLength && bytes * 8 <= BITS_MAX && BASE64.test(text);
}

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

export interface KeyBits {
  readonly text: string;
  readonly bits: number;
}

/** All keys of several bitmaps. A shorter one is repeated: its bits stand for all hashes with that remainder. */
export function mergedBits(texts: readonly string[]): KeyBits {
  const all = texts.map(decodedBits);
  const merged = new Uint8Array(Math.max(...all.map(({ length }) => length)));
  for (const each of all)
    for (let at = 0; at < merged.length; at += 1)
      merged[at] = (merged[at] as number) | (each[at % each.length] as number);
  return { text: encodedBits(merged), bits: merged.length * 8 };
}

/** Of all bits, how many are set. */
export function shareOfBits({ text, bits }: KeyBits): number {
  let set = 0;
  for (const byte of decodedBits(text)) for (let rest = byte; rest > 0; rest >>= 1) set += rest & 1;
  return set / bits;
}

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const VALUES: ReadonlyMap<string, number> = new Map(
  Array.from(DIGITS).map((digit, at) => [digit, at]),
);

/** Base64, by hand: nothing here knows of Node. */
function decodedBits(text: string): Uint8Array {
  const digits = text.replace(/=+$/, '');
  const bytes = new Uint8Array(Math.floor((digits.length * 3) / 4));
  let [held, bits, at] = [0, 0, 0];
  for (const digit of digits) {
    held = ((held << 6) | (VALUES.get(digit) ?? 0)) & 0xff_ff;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes[at] = (held >> bits) & 0xff;
    at += 1;
  }
  return bytes;
}

function encodedBits(bytes: Uint8Array): string {
  const digits: string[] = [];
  for (let at = 0; at < bytes.length; at += 3) {
    const [a = 0, b = 0, c = 0] = bytes.subarray(at, at + 3);
    const three = (a << 16) | (b << 8) | c;
    for (const shift of [18, 12, 6, 0]) digits.push(DIGITS[(three >> shift) & 63] as string);
  }
  const missing = (3 - (bytes.length % 3)) % 3;
  return digits.join('').slice(0, digits.length - missing) + '='.repeat(missing);
}
