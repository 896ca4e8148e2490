/**
 * Finds small numbers by a hash: what a `Map` does, for numbers whose keys stand somewhere else, at seven bytes each.
 * Many small tables, so that one that is full is made anew without anybody noticing.
 */
import { invariant } from '../errors.ts';

const SHARDS = 256;
const PLACES = 16;

export class NumberIndex {
  readonly #hashOf: (number: number) => number;
  /** 0 is a free place. */
  readonly #shards: Uint32Array[] = Array.from({ length: SHARDS }, () => new Uint32Array(PLACES));
  readonly #counts: Uint32Array = new Uint32Array(SHARDS);

  /** Numbers are from 1. Hashes are 32 bits, well spread, and do not change while a number is in. */
  constructor(hashOf: (number: number) => number) {
    this.#hashOf = hashOf;
  }

  /** Of the numbers with this hash the one that is wanted; 0 if there is none. */
  find(hash: number, isWanted: (number: number) => boolean): number {
    const places = this.#shards[hash >>> 24] as Uint32Array;
    const mask = places.length - 1;
    for (let at = hash & mask; ; at = (at + 1) & mask) {
      const number = places[at] as number;
      if (number === 0 || isWanted(number)) return number;
    }
  }

  add(number: number): void {
    const hash = this.#hashOf(number);
    const shard = hash >>> 24;
    const count = (this.#counts[shard] as number) + 1;
    this.#counts[shard] = count;
    let places = this.#shards[shard] as Uint32Array;
    if (count * 4 > places.length * 3) {
      const larger = new Uint32Array(places.length * 2);
      for (const each of places) if (each !== 0) put(larger, this.#hashOf(each), each);
      this.#shards[shard] = larger;
      places = larger;
    }
    put(places, hash, number);
  }

  remove(number: number): void {
    const hash = this.#hashOf(number);
    const shard = hash >>> 24;
    const places = this.#shards[shard] as Uint32Array;
    const mask = places.length - 1;
    let free = hash & mask;
    while (places[free] !== number) {
      invariant(places[free] !== 0, 'a number that is removed is in the index');
      free = (free + 1) & mask;
    }
    this.#counts[shard] = (this.#counts[shard] as number) - 1;
    // Whatever was pushed past this place by others moves up, so that no search ends too soon.
    for (let at = (free + 1) & mask; places[at] !== 0; at = (at + 1) & mask) {
      const home = this.#hashOf(places[at] as number) & mask;
      if (((at - home) & mask) < ((at - free) & mask)) continue;
      places[free] = places[at] as number;
      free = at;
    }
    places[free] = 0;
  }
}

function put(places: Uint32Array, hash: number, number: number): void {
  const mask = places.length - 1;
  let at = hash & mask;
  while (places[at] !== 0) at = (at + 1) & mask;
  places[at] = number;
}
