/**
 * A map for what lives long and is never the same for long. V8 lets every table that a map has outgrown, or that has
 * been filled with deleted entries, point to the one after it. As soon as one of them has become old, it keeps all later ones
 * alive with what was in them until the whole heap is collected, and each collection of young objects has to copy that. So
 * these begin a new map after as many deletions as there are entries.
 *
 * What goes in the order in which it came is not copied: the map of before stays for what is left of it, and new entries
 * come into the new one. Only when some stay much longer than others are both put together.
 *
 * Do not add or delete while iterating: what the iteration sees may be the map of before.
 */

/** The smallest table has room for four, deleted ones included. */
const DELETIONS_MIN = 2;
/** Before both maps are put together. */
const DELETIONS_AN_ENTRY = 4;

export class RenewedMap<K, V> {
  /** What came earlier; all of it is older than what is in the other one. */
  #old: Map<K, V> = new Map();
  #map: Map<K, V> = new Map();
  #deletions = 0;

  get size(): number {
    return this.#old.size + this.#map.size;
  }

  get(key: K): V | undefined {
    const value = this.#map.get(key);
    return value === undefined && this.#old.size > 0 ? this.#old.get(key) : value;
  }

  has(key: K): boolean {
    return this.#map.has(key) || (this.#old.size > 0 && this.#old.has(key));
  }

  set(key: K, value: V): void {
    if (this.#old.size > 0 && this.#old.has(key)) this.#old.set(key, value);
    else this.#map.set(key, value);
  }

  delete(key: K): boolean {
    if (!(this.#old.size > 0 && this.#old.delete(key)) && !this.#map.delete(key)) return false;
    this.#deletions += 1;
    if (this.#deletions >= DELETIONS_MIN && this.#deletions >= this.size) this.#renew();
    return true;
  }

  #renew(): void {
    if (this.#old.size === 0) {
      this.#old = this.#map;
      this.#map = new Map();
    } else if (this.#deletions < this.size * DELETIONS_AN_ENTRY) return;
    else {
      this.#map = new Map(this.entries());
      this.#old = new Map();
    }
    this.#deletions = 0;
  }

  clear(): void {
    this.#old = new Map();
    this.#map = new Map();
    this.#deletions = 0;
  }

  *keys(): Generator<K, void> {
    yield* this.#old.keys();
    yield* this.#map.keys();
  }

  *values(): Generator<V, void> {
    yield* this.#old.values();
    yield* this.#map.values();
  }

  *entries(): Generator<[K, V], void> {
    yield* this.#old.entries();
    yield* this.#map.entries();
  }
}
