/** What became of an offered item. `full` is back-pressure for the caller to pass on, never something to ignore. */
export type Offer = 'accepted' | 'full';

/**
 * First in, first out, never more than `capacity` items: it refuses instead of growing.
 * A ring over a fixed array, so offering and taking cost the same at any length.
 */
export class BoundedQueue<T> {
  readonly capacity: number;
  readonly #slots: (T | undefined)[];
  #head = 0;
  #size = 0;

  constructor(capacity: number) {
    if (!Number.isSafeInteger(capacity) || capacity < 1) {
      throw new RangeError(`A queue needs a capacity of at least 1, not ${capacity}.`);
    }
    this.capacity = capacity;
    this.#slots = Array.from({ length: capacity });
  }

  get size(): number {
    return this.#size;
  }

  offer(item: T): Offer {
    if (this.#size === this.capacity) return 'full';
    this.#slots[(this.#head + this.#size) % this.capacity] = item;
    this.#size += 1;
    return 'accepted';
  }

  /** Removes and returns up to `max` items, oldest first. */
  take(max: number = this.#size): T[] {
    const taken: T[] = [];
    while (taken.length < max && this.#size > 0) {
      taken.push(this.#slots[this.#head] as T);
      this.#slots[this.#head] = undefined;
      this.#head = (this.#head + 1) % this.capacity;
      this.#size -= 1;
    }
    return taken;
  }
}
