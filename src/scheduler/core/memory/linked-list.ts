/**
 * A list whose links are in what it lists, in the order in which that came. What passes through in thousands a second comes and
 * goes without a table to look it up in, or to make anew.
 */

/** Where something stands; it is in one list at most. */
export class Place<T> {
  list: object | null = null;
  before: T | null = null;
  after: T | null = null;
}

export interface Placed<T> {
  readonly place: Place<T>;
}

export class LinkedList<T extends Placed<T>> {
  #first: T | null = null;
  #last: T | null = null;
  #size = 0;

  get first(): T | null {
    return this.#first;
  }

  get size(): number {
    return this.#size;
  }

  has({ place }: T): boolean {
    return place.list === this;
  }

  /** At the end, unless it is in here already. */
  add(item: T): void {
    const { place } = item;
    if (place.list === this) return;
    place.list = this;
    place.before = this.#last;
    if (this.#last === null) this.#first = item;
    else this.#last.place.after = item;
    this.#last = item;
    this.#size += 1;
  }

  /** False when it was not in here. */
  delete(item: T): boolean {
    const { place } = item;
    if (place.list !== this) return false;
    const { before, after } = place;
    if (before === null) this.#first = after;
    else before.place.after = after;
    if (after === null) this.#last = before;
    else after.place.before = before;
    place.list = null;
    place.before = null;
    place.after = null;
    this.#size -= 1;
    return true;
  }

  /** A copy: what is in the list may change meanwhile. */
  all(): T[] {
    const items: T[] = [];
    for (let item = this.#first; item !== null; item = item.place.after) items.push(item);
    return items;
  }
}
