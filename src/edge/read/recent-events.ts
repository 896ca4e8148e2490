import type { EventShape } from '../../scheduler/contract/index.ts';

/**
 * The newest events of the log, up to a limit, for followers that keep up. Without gaps: the slot of an event
 * follows from its number.
 */
export class RecentEvents {
  readonly #slots: EventShape<Date>[] = [];
  readonly #max: number;
  #head: number;
  #size = 0;

  /** Starts empty, after event `head`. */
  constructor(max: number, head: number) {
    this.#max = max;
    this.#head = head;
  }

  /** The newest event that was seen. */
  get head(): number {
    return this.#head;
  }

  /** Takes the event after `head`. */
  push(event: EventShape<Date>): void {
    this.#head = event.seq;
    this.#slots[event.seq % this.#max] = event;
    this.#size = Math.min(this.#size + 1, this.#max);
  }

  /** Whether every event after `after` is here. */
  reaches(after: number): boolean {
    return after >= this.#head - this.#size;
  }

  /** Up to `count` events after `after`, or null if some of them are no longer here. */
  after(after: number, count: number = Infinity): EventShape<Date>[] | null {
    if (!this.reaches(after)) return null;
    const found: EventShape<Date>[] = [];
    for (let seq = after + 1; seq <= this.#head && found.length < count; seq += 1) {
      const event = this.#slots[seq % this.#max];
      if (event !== undefined) found.push(event);
    }
    return found;
  }
}
