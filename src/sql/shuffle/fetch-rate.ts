/** How much a worker takes in of the outputs of others, per second in which it was fetching. */
import type { Clock } from '../../kit/index.ts';

/** With less, a rate says more about the first bytes than about those that follow. */
const MEASURED_MS_MIN = 200;
/** It is answered for so long: several ask for it. */
const ANSWERED_MS = 10_000;

export class FetchRate {
  readonly #clock: Clock;
  #open = 0;
  #openedAtMs = 0;
  #activeMs = 0;
  #bytes = 0;
  #perSecond = 0;
  #measuredAtMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A fetch begins; the function ends it. */
  begin(): () => void {
    if (this.#open === 0) this.#openedAtMs = this.#clock.monotonicMs();
    this.#open += 1;
    return () => {
      if (this.#open === 1) this.#count();
      this.#open -= 1;
    };
  }

  took(bytes: number): void {
    this.#bytes += bytes;
  }

  /** Of the last seconds; 0 if nothing was fetched. */
  measure(): number {
    if (this.#open > 0) this.#count();
    const nowMs = this.#clock.monotonicMs();
    if (this.#activeMs >= MEASURED_MS_MIN) {
      this.#measuredAtMs = nowMs;
      this.#perSecond = Math.max(1, Math.round((this.#bytes * 1_000) / this.#activeMs));
      this.#activeMs = 0;
      this.#bytes = 0;
    } else if (this.#open === 0 && nowMs - this.#measuredAtMs > ANSWERED_MS) {
      this.#perSecond = 0;
    }
    return this.#perSecond;
  }

  /** Up to now. */
  #count(): void {
    const nowMs = this.#clock.monotonicMs();
    this.#activeMs += nowMs - this.#openedAtMs;
    this.#openedAtMs = nowMs;
  }
}
