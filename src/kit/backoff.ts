export interface BackoffRange {
  /** The delay after the first failure. */
  readonly firstMs: number;
  /** The longest delay. */
  readonly maxMs: number;
}

/**
 * Exponential backoff: the delay after this many failures in a row, counted from 1. It doubles up to `maxMs`.
 * `random` (from 0 to 1) adds jitter, between half of the delay and all of it, so that callers who failed together do
 * not retry together. A single caller may leave it out.
 */
export function backoffMs(
  { firstMs, maxMs }: BackoffRange,
  failures: number,
  random?: () => number,
): number {
  const fullMs = Math.min(maxMs, firstMs * 2 ** Math.max(0, failures - 1));
  return random === undefined ? fullMs : fullMs * (0.5 + random() / 2);
}

/** The same, for a caller that counts its failures here. */
export class Backoff {
  readonly #range: BackoffRange;
  readonly #random: (() => number) | undefined;
  #failures = 0;

  constructor(range: BackoffRange, random?: () => number) {
    this.#range = range;
    this.#random = random;
  }

  /** Counts a failure and returns the delay before the next attempt. */
  nextMs(): number {
    this.#failures += 1;
    return backoffMs(this.#range, this.#failures, this.#random);
  }

  /** After a success. */
  reset(): void {
    this.#failures = 0;
  }
}
