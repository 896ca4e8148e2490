import type { AsOf, EventPage, EventsQuery } from '../../../scheduler/contract/index.ts';
import { RecentEvents } from '../recent-events.ts';

/** The log as far as an observer has followed it, with the newest events for its own followers. */
export class FollowedLog {
  readonly #max: number;
  #events: RecentEvents;
  #asOf: AsOf<Date> | null = null;
  #era = 0;
  readonly #waiting: Set<() => void> = new Set();

  constructor(max: number) {
    this.#max = max;
    this.#events = new RecentEvents(max, 0);
  }

  /** Up to where the log was followed. */
  get asOf(): AsOf<Date> | null {
    return this.#asOf;
  }

  /** Grows when it restarts: what was read before may belong to another history. */
  get era(): number {
    return this.#era;
  }

  /**
   * Restarts after `asOf`: events before it may have been missed. Null: nothing is known any more, and
   * followers ask the source.
   */
  reset(asOf: AsOf<Date> | null): void {
    this.#era += 1;
    this.#events = new RecentEvents(this.#max, asOf?.seq ?? 0);
    this.#asOf = asOf;
    this.#wake();
  }

  /** A page may come again, with more in it, when what it led to has failed. */
  add({ events, asOf }: EventPage): void {
    const known = this.#asOf?.seq ?? 0;
    for (const event of events) {
      if (event.seq <= known) continue;
      // Behind a gap only the source knows what there is.
      if (event.seq !== this.#events.head + 1) {
        this.#events = new RecentEvents(this.#max, event.seq - 1);
      }
      this.#events.push(event);
    }
    if (asOf.seq >= known) this.#asOf = asOf;
    this.#wake();
  }

  /** Whether everything after this one is here. */
  reaches(after: number): boolean {
    return this.#events.reaches(after);
  }

  /** What is known after `after`. */
  page({ after, job }: EventsQuery, asOf: AsOf<Date>): EventPage {
    const events = this.#events.after(after) ?? [];
    return { events: events.filter((event) => job === undefined || event.job === job), asOf };
  }

  /** Settles when something was added, or `done` is called. */
  more(): { readonly added: Promise<void>; readonly done: () => void } {
    let done = (): void => {};
    const added = new Promise<void>((resolve) => {
      done = resolve;
      this.#waiting.add(resolve);
    });
    return { added, done };
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}
