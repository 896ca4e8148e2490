/**
 * Which names may have been put in: never false for one that was, and rarely true for one that was not. A Bloom filter
 * that grows by further layers, each twice as large: about 16 bits a name.
 */
const BITS_A_NAME = 16;
const PROBES = 4;
const FIRST_NAMES = 4_096;

interface Layer {
  readonly words: Uint32Array;
  /** A power of two, less one. */
  readonly mask: number;
  left: number;
}

export class NameFilter {
  readonly #layers: Layer[] = [layerFor(FIRST_NAMES)];
  #names = FIRST_NAMES;

  add(name: string): void {
    let layer = this.#layers.at(-1) as Layer;
    if (layer.left === 0) {
      this.#names *= 2;
      layer = layerFor(this.#names);
      this.#layers.push(layer);
    }
    layer.left -= 1;
    const [low, step] = hashesOf(name);
    for (let probe = 0; probe < PROBES; probe += 1) {
      const bit = placeOf(layer, low, step, probe);
      layer.words[bit >>> 5] = (layer.words[bit >>> 5] ?? 0) | (1 << (bit & 31));
    }
  }

  mayHave(name: string): boolean {
    const [low, step] = hashesOf(name);
    return this.#layers.some((layer) => isIn(layer, low, step));
  }
}

function layerFor(names: number): Layer {
  const bits = names * BITS_A_NAME;
  return { words: new Uint32Array(bits / 32), mask: bits - 1, left: names };
}

function isIn(layer: Layer, low: number, step: number): boolean {
  for (let probe = 0; probe < PROBES; probe += 1) {
    const bit = placeOf(layer, low, step, probe);
    if (((layer.words[bit >>> 5] ?? 0) & (1 << (bit & 31))) === 0) return false;
  }
  return true;
}

function placeOf({ mask }: Layer, low: number, step: number, probe: number): number {
  return (low + Math.imul(probe, step)) & mask;
}

/** Two independent hashes; the second one is odd, so that no two probes meet. */
function hashesOf(name: string): readonly [number, number] {
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
  return [one ^ (one >>> 15), (other ^ (other >>> 16)) | 1];
}
