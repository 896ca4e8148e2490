/**
 * Which names may have been put in: never false for one that was, and very rarely true for one that was not, so that a list of
 * hundreds of new names has mostly none of those. A Bloom filter that grows by further layers, each four times as large.
 *
 * All bits of a name are in one block of eight words, one in each, so that a look at a layer is a look at one line of the processor's
 * cache. At 32 bits a name some four in a hundred thousand are mistaken in a layer that is full.
 */
const FIRST_NAMES = 65_536;
const GROWTH = 4;
const BLOCK_WORDS = 8;
/** Of 32 bits each. */
const WORDS_A_NAME = 1;

/** Odd numbers without a pattern: a bit for each word of a block. */
const SALTS = [
  ...[0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d],
  ...[0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31],
] as const;

interface Layer {
  readonly words: Uint32Array;
  /** Of the numbers of blocks: a power of two, less one. */
  readonly mask: number;
  left: number;
}

export class NameFilter {
  /** Newest first: it is the largest. */
  readonly #layers: Layer[] = [layerFor(FIRST_NAMES)];
  #names = FIRST_NAMES;
  /** Of the name that was looked at last: two independent hashes. */
  #place = 0;
  #bits = 0;

  add(name: string): void {
    let layer = this.#layers[0] as Layer;
    if (layer.left === 0) {
      this.#names *= GROWTH;
      layer = layerFor(this.#names);
      this.#layers.unshift(layer);
    }
    layer.left -= 1;
    this.#hash(name);
    const { words, mask } = layer;
    const from = (this.#place & mask) * BLOCK_WORDS;
    for (let at = 0; at < BLOCK_WORDS; at += 1)
      words[from + at] = (words[from + at] as number) | this.#bitIn(at);
  }

  mayHave(name: string): boolean {
    this.#hash(name);
    for (const layer of this.#layers) if (this.#isIn(layer)) return true;
    return false;
  }

  #isIn({ words, mask }: Layer): boolean {
    const from = (this.#place & mask) * BLOCK_WORDS;
    for (let at = 0; at < BLOCK_WORDS; at += 1)
      if (((words[from + at] as number) & this.#bitIn(at)) === 0) return false;
    return true;
  }

  /** The five highest bits are the best. */
  #bitIn(word: number): number {
    return 1 << (Math.imul(this.#bits, SALTS[word] as number) >>> 27);
  }

  #hash(name: string): void {
    let one = 0x9e3779b9;
    let other = 0x85ebca6b ^ name.length;
    for (let at = 0; at < name.length; at += 1) {
      const unit = name.charCodeAt(at);
      one = Math.imul(one ^ unit, 0x01000193);
      other = Math.imul(other ^ unit, 0xc2b2ae35);
      other = (other << 13) | (other >>> 19);
    }
    one = Math.imul(one ^ (one >>> 16), 0x7feb352d);
    other = Math.imul(other ^ (other >>> 15), 0x846ca68b);
    this.#place = one ^ (one >>> 15);
    this.#bits = other ^ (other >>> 16);
  }
}

function layerFor(names: number): Layer {
  const words = names * WORDS_A_NAME;
  return { words: new Uint32Array(words), mask: words / BLOCK_WORDS - 1, left: names };
}
