/** Ids as numbers: a UUID is four words of 32 bits. */

export type Words = readonly [number, number, number, number];

const LENGTH = 36;
const [HYPHEN, ZERO, NINE, A] = [0x2d, 0x30, 0x39, 0x61];
const HALF = 0x10000;

/** Null for what would not come back as it was. */
export function uuidWords(id: string): Words | null {
  if (id.length !== LENGTH || !hasHyphens(id)) return null;
  const one = numberAt(id, 0, 8);
  const two = numberAt(id, 9, 4) * HALF + numberAt(id, 14, 4);
  const three = numberAt(id, 19, 4) * HALF + numberAt(id, 24, 4);
  const four = numberAt(id, 28, 8);
  return Number.isNaN(one + two + three + four) ? null : [one, two, three, four];
}

function hasHyphens(id: string): boolean {
  return [8, 13, 18, 23].every((at) => id.charCodeAt(at) === HYPHEN);
}

/** Of so many digits; NaN if one of them is none. */
function numberAt(id: string, from: number, digits: number): number {
  let value = 0;
  for (let at = from; at < from + digits; at += 1) {
    const code = id.charCodeAt(at);
    const isLetter = code > NINE;
    const digit = isLetter ? code - A + 10 : code - ZERO;
    if (digit < (isLetter ? 10 : 0) || digit > 15) return NaN;
    value = value * 16 + digit;
  }
  return value;
}

/** Written over by each call; the hyphens stay. */
const codes: number[] = Array.from({ length: LENGTH }, () => HYPHEN);

/** All characters at once: a text that is put together of parts is copied again when it is first looked for. */
export function uuidText([one, two, three, four]: Words): string {
  writeDigits(0, one, 8);
  writeDigits(9, two >>> 16, 4);
  writeDigits(14, two, 4);
  writeDigits(19, three >>> 16, 4);
  writeDigits(24, three, 4);
  writeDigits(28, four, 8);
  return String.fromCharCode(...codes);
}

/** The last so many digits of the word. */
function writeDigits(from: number, word: number, digits: number): void {
  let rest = word;
  for (let at = from + digits - 1; at >= from; at -= 1) {
    const digit = rest & 15;
    codes[at] = digit < 10 ? ZERO + digit : A + digit - 10;
    rest >>>= 4;
  }
}

/** Of any other id: FNV-1a, in the first word. */
export function idHash(id: string): Words {
  let hash = 0x811c9dc5;
  for (let at = 0; at < id.length; at += 1) {
    hash = Math.imul(hash ^ id.charCodeAt(at), 0x01000193);
  }
  return [hash >>> 0, id.length, 0, 0];
}
