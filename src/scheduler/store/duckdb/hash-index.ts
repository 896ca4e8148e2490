/**
 * Names to numbers, in memory: 32 bytes a name or less, against the 20 ms that DuckDB needs to look
 * for one id among a million. It maps a 53-bit hash, so what it finds are candidates: the caller
 * compares the name itself. Built from the `..._hash` columns when the file is opened.
 */
const EMPTY = 0;
const REMOVED = -1;

/** Mixes every UTF-16 unit into two 32-bit halves; the result is a whole number below 2^53. */
export function nameHash(name: string): number {
  let high = 0x9e3779b9;
  let low = 0x85ebca6b ^ name.length;
  for (let at = 0; at < name.length; at += 1) {
    const unit = name.charCodeAt(at);
    high = Math.imul(high ^ unit, 0x01000193);
    low = Math.imul(low ^ unit, 0xc2b2ae35);
    low = (low << 13) | (low >>> 19);
  }
  high = Math.imul(high ^ (high >>> 16), 0x7feb352d) ^ low;
  low = Math.imul(low ^ (low >>> 15), 0x846ca68b) ^ high;
  return (high >>> 11) * 0x1_0000_0000 + (low >>> 0);
}

export class HashIndex {
  #hashes: Float64Array;
  #numbers: Float64Array;
  /** Slots that are not empty, removed ones too: they lengthen a search just the same. */
  #used = 0;

  constructor(capacity = 1_024) {
    this.#hashes = new Float64Array(capacity);
    this.#numbers = new Float64Array(capacity);
  }

  /** Numbers from 1. The same pair may be added once only. */
  add(hash: number, no: number): void {
    if ((this.#used + 1) * 2 > this.#numbers.length) this.#rehash();
    this.#put(hash, no);
  }

  find(hash: number): number[] {
    const found: number[] = [];
    const capacity = this.#numbers.length;
    for (let at = hash % capacity; this.#numbers[at] !== EMPTY; at = (at + 1) % capacity) {
      const no = this.#numbers[at] ?? EMPTY;
      if (this.#hashes[at] === hash && no !== REMOVED) found.push(no);
    }
    return found;
  }

  remove(hash: number, no: number): void {
    const capacity = this.#numbers.length;
    for (let at = hash % capacity; this.#numbers[at] !== EMPTY; at = (at + 1) % capacity) {
      if (this.#hashes[at] !== hash || this.#numbers[at] !== no) continue;
      this.#numbers[at] = REMOVED;
      return;
    }
  }

  #put(hash: number, no: number): void {
    const capacity = this.#numbers.length;
    let at = hash % capacity;
    while (this.#numbers[at] !== EMPTY) at = (at + 1) % capacity;
    this.#hashes[at] = hash;
    this.#numbers[at] = no;
    this.#used += 1;
  }

  /** Drops removed entries, and doubles when it is still half full without them. */
  #rehash(): void {
    const [hashes, numbers] = [this.#hashes, this.#numbers];
    const live = numbers.reduce((count, no) => (no > EMPTY ? count + 1 : count), 0);
    const capacity = live * 4 > numbers.length ? numbers.length * 2 : numbers.length;
    this.#hashes = new Float64Array(capacity);
    this.#numbers = new Float64Array(capacity);
    this.#used = 0;
    for (const [at, no] of numbers.entries()) if (no > EMPTY) this.#put(hashes[at] ?? 0, no);
  }
}
