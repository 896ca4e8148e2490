/** A binary min-heap. `before` must be a strict order that does not change while an item is in. */
export class Heap<T> {
  readonly #items: T[] = [];
  readonly #before: (a: T, b: T) => boolean;

  constructor(before: (a: T, b: T) => boolean) {
    this.#before = before;
  }

  get size(): number {
    return this.#items.length;
  }

  peek(): T | undefined {
    return this.#items[0];
  }

  push(item: T): void {
    const items = this.#items;
    let at = items.length;
    items.push(item);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = items[parent] as T;
      if (!this.#before(item, above)) break;
      items[at] = above;
      at = parent;
    }
    items[at] = item;
  }

  pop(): T | undefined {
    const items = this.#items;
    const top = items[0];
    const last = items.pop();
    if (last !== undefined && items.length > 0) this.#sink(last);
    return top;
  }

  /** Takes the item out if it stands where the newest stand: anywhere else it would have to be looked for. */
  dropLast(item: T): boolean {
    if (this.#items.at(-1) !== item) return false;
    this.#items.pop();
    return true;
  }

  #sink(item: T): void {
    const items = this.#items;
    const size = items.length;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= size) break;
      if (child + 1 < size && this.#before(items[child + 1] as T, items[child] as T)) child += 1;
      const below = items[child] as T;
      if (!this.#before(below, item)) break;
      items[at] = below;
      at = child;
    }
    items[at] = item;
  }
}
