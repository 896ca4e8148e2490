/**
 * A map and a set for what lives long and is never the same for long. V8 lets every table that a map has outgrown, or that has
 * been filled with deleted entries, point to the one after it. As soon as one of them has become old, it keeps all later ones
 * alive with what was in them until the whole heap is collected, and each collection of young objects has to copy that. So
 * these begin a new map after as many deletions as there are entries.
 *
 * Do not add or delete while iterating: what the iteration sees may be the map of before.
 */

/** The smallest table has room for four, deleted ones included. */
const DELETIONS_MIN = 2;

export class RenewedMap<K, V> {
  #map: Map<K, V> = new Map();
  #deletions = 0;

  get size(): number {
    return this.#map.size;
  }

  get(key: K): V | undefined {
    return this.#map.get(key);
  }

  has(key: K): boolean {
    return this.#map.has(key);
  }

  set(key: K, value: V): void {
    this.#map.set(key, value);
  }

  delete(key: K): boolean {
    if (!this.#map.delete(key)) return false;
    this.#deletions += 1;
    if (this.#deletions >= DELETIONS_MIN && this.#deletions >= this.#map.size) {
      this.#deletions = 0;
      this.#map = new Map(this.#map);
    }
    return true;
  }

  clear(): void {
    this.#map = new Map();
    this.#deletions = 0;
  }

  keys(): MapIterator<K> {
    return this.#map.keys();
  }

  values(): MapIterator<V> {
    return this.#map.values();
  }

  entries(): MapIterator<[K, V]> {
    return this.#map.entries();
  }
}

export class RenewedSet<T> {
  readonly #map: RenewedMap<T, true> = new RenewedMap();

  get size(): number {
    return this.#map.size;
  }

  has(value: T): boolean {
    return this.#map.has(value);
  }

  add(value: T): void {
    this.#map.set(value, true);
  }

  delete(value: T): boolean {
    return this.#map.delete(value);
  }

  values(): MapIterator<T> {
    return this.#map.keys();
  }
}
