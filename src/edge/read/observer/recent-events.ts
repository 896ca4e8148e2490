import type {
  AsOf,
  EventPage,
  EventShape,
  EventsQuery,
} from '../../../scheduler/contract/index.ts';

/** The youngest events, for those who follow the log here. */
export class RecentEvents {
  readonly #max: number;
  #events: EventShape[] = [];
  #asOf: AsOf | null = null;
  #era = 0;
  readonly #waiting: Set<() => void> = new Set();

  constructor(max: number) {
    this.#max = max;
  }

  /** Up to where the log was followed. */
  get asOf(): AsOf | null {
    return this.#asOf;
  }

  /** Grows when it starts anew: what was read before may be of another history. */
  get era(): number {
    return this.#era;
  }

  /** Starts anew after `asOf`: what lies between may have been missed. */
  reset(asOf: AsOf): void {
    this.#era += 1;
    this.#events = [];
    this.#asOf = asOf;
    this.#wake();
  }

  /** Nothing is known any more; those who follow ask the source. */
  forget(): void {
    this.#era += 1;
    this.#events = [];
    this.#asOf = null;
    this.#wake();
  }

  /** A page may come again, with more in it, when what it led to has failed. */
  add({ events, asOf }: EventPage): void {
    const known = this.#asOf?.seq ?? 0;
    for (const event of events) if (event.seq > known) this.#events.push(event);
    // Cut seldom and much, so that it costs little.
    if (this.#events.length > this.#max * 2) this.#events = this.#events.slice(-this.#max);
    if (asOf.seq >= known) this.#asOf = asOf;
    this.#wake();
  }

  /** Whether everything after this one is here. */
  reaches(after: number): boolean {
    const oldest = this.#events[0]?.seq ?? (this.#asOf?.seq ?? 0) + 1;
    return after + 1 >= oldest;
  }

  /** What is known after `after`. */
  page({ after, job }: EventsQuery, asOf: AsOf): EventPage {
    const start = this.#events.findIndex(({ seq }) => seq > after);
    const younger = start < 0 ? [] : this.#events.slice(start);
    return { events: younger.filter((event) => job === undefined || event.job === job), asOf };
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
