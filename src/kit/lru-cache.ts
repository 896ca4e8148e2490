export interface LruCacheOptions<V> {
  /** How many entries it holds; any number if left out. */
  readonly max?: number;
  /** How much its entries weigh together; an entry that weighs more is held alone. */
  readonly weightMax?: number;
  /** 1 if left out. */
  readonly weightOf?: (value: V) => number;
}

/** A cache that drops the entries that were used longest ago. */
export class LruCache<K, V extends {}> {
  readonly #options: LruCacheOptions<V>;
  /** The entry that was used last stands last. */
  readonly #entries: Map<K, V> = new Map();
  #weight = 0;

  constructor(options: LruCacheOptions<V>) {
    this.#options = options;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: K): V | undefined {
    const value = this.#entries.get(key);
    if (value === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, value);
    return value;
  }

  set(key: K, value: V): void {
    this.delete(key);
    this.#entries.set(key, value);
    this.#weight += this.#weightOf(value);
    const { max = Infinity, weightMax = Infinity } = this.#options;
    for (const oldest of this.#entries.keys()) {
      if (this.size === 1 || (this.size <= max && this.#weight <= weightMax)) return;
      this.delete(oldest);
    }
  }

  delete(key: K): void {
    const value = this.#entries.get(key);
    if (value === undefined) return;
    this.#entries.delete(key);
    this.#weight -= this.#weightOf(value);
  }

  #weightOf(value: V): number {
    return this.#options.weightOf?.(value) ?? 1;
  }
}
