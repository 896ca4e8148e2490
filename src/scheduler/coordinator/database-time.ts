import type { Clock } from '../../kit/index.ts';
import { instant } from '../core/index.ts';
import type { Instant } from '../core/index.ts';

/**
 * The database's clock as far as this process knows it: never the wall clock here, never back.
 *
 * An answer proves only that the database's clock showed its time at some moment between question
 * and answer. The estimate is moved no further than that proof demands: if every slow answer set it
 * back and the next quick one forth again, leases given in between would end early.
 */
export class DatabaseTime {
  readonly #clock: Clock;
  /** The database's time at the zero of the monotonic clock. */
  #offset: number;
  #last: Instant;

  constructor(clock: Clock, now: Instant) {
    this.#clock = clock;
    this.#offset = now - clock.monotonicMs();
    this.#last = now;
  }

  now(): Instant {
    const estimate = Math.floor(this.#offset + this.#clock.monotonicMs());
    this.#last = instant(Math.max(this.#last, estimate));
    return this.#last;
  }

  /** The database answered with its time a question that was sent at `askedAtMs`. */
  heard(now: Instant, askedAtMs: number): void {
    const least = now - this.#clock.monotonicMs();
    const most = now - askedAtMs;
    this.#offset = Math.min(Math.max(this.#offset, least), most);
  }
}
