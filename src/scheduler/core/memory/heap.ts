/**
 * A priority queue. `before` must be a strict order that does not change while an item is in. What comes in order, as
 * timers and turns mostly do, stands in line and costs the same however many there are; only what comes out of turn
 * goes into a binary heap.
 */
export class Heap<T> {
  /** From `#head` on, none before the one ahead of it. */
  readonly #line: (T | undefined)[] = [];
  #head = 0;
  readonly #items: T[] = [];
  readonly #before: (a: T, b: T) => boolean;

  constructor(before: (a: T, b: T) => boolean) {
    this.#before = before;
  }

  get size(): number {
    return this.#items.length + this.#line.length - this.#head;
  }

  peek(): T | undefined {
    const first = this.#line[this.#head];
    const top = this.#items[0];
    if (first === undefined || top === undefined) return first ?? top;
    return this.#before(top, first) ? top : first;
  }

  push(item: T): void {
    const last = this.#line[this.#line.length - 1];
    if (last === undefined || !this.#before(item, last)) this.#line.push(item);
    else this.#rise(item);
  }

  pop(): T | undefined {
    const next = this.peek();
    if (next === undefined) return undefined;
    if (next === this.#line[this.#head]) this.#leaveLine();
    else this.#leaveTop();
    return next;
  }

  #leaveLine(): void {
    this.#line[this.#head] = undefined;
    this.#head += 1;
    if (this.#head === this.#line.length) this.#line.length = 0;
    else if (this.#head < this.#line.length / 2 || this.#head < PLACES_MIN) return;
    else this.#line.splice(0, this.#head);
    this.#head = 0;
  }

  #leaveTop(): void {
    const last = this.#items.pop();
    if (last !== undefined && this.#items.length > 0) this.#sink(last);
  }

  #rise(item: T): void {
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

  /** Takes the item out if it stands where the newest stand: anywhere else it would have to be looked for. */
  dropLast(item: T): boolean {
    if (this.#line.length > this.#head && this.#line.at(-1) === item) {
      this.#line.pop();
      if (this.#head === this.#line.length) this.#line.length = this.#head = 0;
      return true;
    }
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

/** So many empty places of a line are not worth moving the others. */
const PLACES_MIN = 64;
