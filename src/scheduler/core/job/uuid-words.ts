/** Ids as numbers: a UUID is four words of 32 bits. */

type Words = readonly [number, number, number, number];

const LENGTH = 36;
const HYPHENS: ReadonlySet<number> = new Set([8, 13, 18, 23]);
const [HYPHEN, ZERO, NINE, A, F] = [0x2d, 0x30, 0x39, 0x61, 0x66];

/** Null for what would not come back as it was. */
export function uuidWords(id: string): Words | null {
  if (id.length !== LENGTH) return null;
  const words: [number, number, number, number] = [0, 0, 0, 0];
  let digits = 0;
  for (let at = 0; at < LENGTH; at += 1) {
    const code = id.charCodeAt(at);
    if (code === HYPHEN && HYPHENS.has(at)) continue;
    if (HYPHENS.has(at)) return null;
    const isLetter = code >= A && code <= F;
    if (!isLetter && (code < ZERO || code > NINE)) return null;
    const word = digits >> 3;
    words[word] = ((words[word] as number) << 4) | (isLetter ? code - A + 10 : code - ZERO);
    digits += 1;
  }
  return [words[0] >>> 0, words[1] >>> 0, words[2] >>> 0, words[3] >>> 0];
}

export function uuidText(words: readonly number[]): string {
  const hex = words.map((word) => word.toString(16).padStart(8, '0')).join('');
  const [one, two] = [hex.slice(0, 8), hex.slice(8, 12)];
  return `${one}-${two}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** Of any other id: FNV-1a, in the first word. */
export function idHash(id: string): Words {
  let hash = 0x811c9dc5;
  for (let at = 0; at < id.length; at += 1) {
    hash = Math.imul(hash ^ id.charCodeAt(at), 0x01000193);
  }
  return [hash >>> 0, id.length, 0, 0];
}
