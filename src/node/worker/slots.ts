/** What a worker holds: at most `slots` running handlers, and behind them a queue of prefetched tasks. */
import { type LeaseName, RenewedMap, RenewedSet } from '../../scheduler/core/index.ts';
import type { Attempt } from './attempt.ts';
import { leaseKey } from './lease-key.ts';

const STARTS_A_TURN = 250;

export interface SlotsOptions {
  readonly slots: number;
  /** Held ready beyond that, so that a slot never waits for a round trip between short tasks. */
  readonly prefetch: () => number;
  /** False while nothing new may be started. */
  readonly mayStart: () => boolean;
  /** Runs the handler. Its slot is free again with `ended`; the lease is held until `forget`. */
  readonly start: (attempt: Attempt) => void;
}

export class Slots {
  readonly #options: SlotsOptions;
  readonly #held: RenewedMap<string, Attempt> = new RenewedMap();
  /** Oldest first, from `#first` on. */
  #waiting: (Attempt | undefined)[] = [];
  #first = 0;
  readonly #running: RenewedSet<Attempt> = new RenewedSet();
  #isFilling = false;
  /** How many may start in this turn of the event loop; null when none has started in it. */
  #left: number | null = null;

  constructor(options: SlotsOptions) {
    this.#options = options;
  }

  /** How many more tasks it could hold; ended ones count until the leader has heard of their end. */
  get free(): number {
    const { slots, prefetch } = this.#options;
    return slots + prefetch() - this.#held.size;
  }

  get isEmpty(): boolean {
    return this.#held.size === 0;
  }

  get running(): readonly Attempt[] {
    return [...this.#running.values()];
  }

  get leases(): readonly LeaseName[] {
    return Array.from(this.#held.values(), ({ lease }) => lease);
  }

  get(lease: LeaseName): Attempt | undefined {
    return this.#held.get(leaseKey(lease));
  }

  /** False for what it has already: a lost answer was sent again. */
  hold(attempt: Attempt): boolean {
    if (this.#held.has(attempt.key)) return false;
    this.#held.set(attempt.key, attempt);
    return true;
  }

  queue(attempt: Attempt): void {
    this.#waiting.push(attempt);
  }

  /** Fills free slots from the queue, oldest first. */
  fill(): void {
    // What ends while it starts makes room for the next turn of the loop.
    if (this.#isFilling) return;
    this.#isFilling = true;
    const { slots, mayStart, start } = this.#options;
    while (this.#first < this.#waiting.length) {
      if (this.#running.size >= slots || !mayStart() || !this.#takesTurn()) break;
      const attempt = this.#next();
      this.#running.add(attempt);
      start(attempt);
    }
    this.#isFilling = false;
  }

  #next(): Attempt {
    const attempt = this.#waiting[this.#first] as Attempt;
    this.#waiting[this.#first] = undefined;
    this.#first += 1;
    if (this.#first === this.#waiting.length || this.#first > this.#waiting.length / 2 + 100) {
      this.#waiting = this.#waiting.slice(this.#first);
      this.#first = 0;
    }
    return attempt;
  }

  /** The handler runs no more. */
  ended(attempt: Attempt): void {
    this.#running.delete(attempt);
  }

  /** Handlers that return at once would run one after the other, and nothing would be heard or said meanwhile. */
  #takesTurn(): boolean {
    if (this.#left === null) {
      this.#left = STARTS_A_TURN;
      setImmediate(() => {
        const isMore = this.#left === 0;
        this.#left = null;
        if (isMore) this.fill();
      });
    }
    if (this.#left === 0) return false;
    this.#left -= 1;
    return true;
  }

  /** It will not be started; true if it was waiting. */
  withdraw(attempt: Attempt): boolean {
    const at = this.#waiting.indexOf(attempt, this.#first);
    if (at >= 0) this.#waiting.splice(at, 1);
    return at >= 0;
  }

  /** Takes everything that was not started out of the queue. */
  withdrawAll(): readonly Attempt[] {
    const waiting = this.#waiting.slice(this.#first) as Attempt[];
    this.#waiting = [];
    this.#first = 0;
    return waiting;
  }

  forget(attempt: Attempt): void {
    this.#held.delete(attempt.key);
  }
}
