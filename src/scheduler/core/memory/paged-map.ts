/**
 * A map from whole numbers that come side by side, as those of new jobs do: its pages are arrays of 64 numbers each. A look at
 * the page of the look before is a look into an array, and nothing is copied when the map grows. Numbers that lie far apart
 * are kept as well, at about 600 bytes each.
 */
const PAGE = 64;
const MASK = PAGE - 1;

/** Copied, which is quicker than to make one. */
const EMPTY: readonly undefined[] = Array.from({ length: PAGE }, () => undefined);

interface Page<V> {
  readonly values: (V | undefined)[];
  count: number;
}

export class PagedMap<K extends number, V> {
  /** Null until there is something: each batch has several that stay empty. */
  #pages: Map<number, Page<V>> | null = null;
  /** The page of the last look, and its number; NaN, which equals nothing, while there is none. */
  #near: Page<V> | undefined = undefined;
  #nearNo = NaN;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(key: K): V | undefined {
    return this.#pageOf(key)?.values[key & MASK];
  }

  has(key: K): boolean {
    return this.get(key) !== undefined;
  }

  set(key: K, value: V): void {
    const page = this.#pageOf(key) ?? this.#open(key);
    const at = key & MASK;
    if (page.values[at] === undefined) {
      page.count += 1;
      this.#size += 1;
    }
    page.values[at] = value;
  }

  /** False when it was not there. */
  delete(key: K): boolean {
    const page = this.#pageOf(key);
    const at = key & MASK;
    if (page?.values[at] === undefined) return false;
    page.values[at] = undefined;
    page.count -= 1;
    this.#size -= 1;
    if (page.count === 0) {
      this.#pages?.delete(this.#nearNo);
      this.#near = undefined;
      this.#nearNo = NaN;
    }
    return true;
  }

  clear(): void {
    this.#pages?.clear();
    this.#near = undefined;
    this.#nearNo = NaN;
    this.#size = 0;
  }

  /** Page by page: within one the numbers rise, and pages come as they were begun. */
  forEach(act: (value: V, key: K) => void): void {
    for (const [no, { values }] of this.#pages ?? []) {
      for (let at = 0; at < PAGE; at += 1) {
        const value = values[at];
        if (value !== undefined) act(value, (no * PAGE + at) as K);
      }
    }
  }

  *values(): Generator<V, void> {
    for (const { values } of this.#pages?.values() ?? []) {
      for (const value of values) if (value !== undefined) yield value;
    }
  }

  *keys(): Generator<K, void> {
    for (const [no, { values }] of this.#pages ?? []) {
      for (let at = 0; at < PAGE; at += 1)
        if (values[at] !== undefined) yield (no * PAGE + at) as K;
    }
  }

  #pageOf(key: K): Page<V> | undefined {
    const no = (key - (key & MASK)) / PAGE;
    if (no === this.#nearNo) return this.#near;
    const page = this.#pages?.get(no);
    if (page !== undefined) {
      this.#near = page;
      this.#nearNo = no;
    }
    return page;
  }

  #open(key: K): Page<V> {
    const no = (key - (key & MASK)) / PAGE;
    const page: Page<V> = { values: EMPTY.slice(), count: 0 };
    this.#pages ??= new Map();
    this.#pages.set(no, page);
    this.#near = page;
    this.#nearNo = no;
    return page;
  }
}
