/** Waiting: for time, and longer each time something fails. */
import { deferred } from '../../kit/index.ts';
import type { Clock } from '../../kit/index.ts';

/** Ends after `ms`, or at once when the signal aborts. It never rejects: the caller looks at why. */
export async function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted || ms <= 0) return;
  const over = deferred();
  const cancel = clock.after(ms, over.resolve);
  const stop = (): void => over.resolve();
  signal.addEventListener('abort', stop, { once: true });
  await over.promise;
  cancel();
  signal.removeEventListener('abort', stop);
}

/** Doubles up to a limit. The jitter keeps workers that lost one leader from finding the next in step. */
export class BackOff {
  readonly #firstMs: number;
  readonly #maxMs: number;
  readonly #random: () => number;
  #failures = 0;

  constructor(firstMs: number, maxMs: number, random: () => number) {
    this.#firstMs = firstMs;
    this.#maxMs = maxMs;
    this.#random = random;
  }

  nextMs(): number {
    const fullMs = Math.min(this.#maxMs, this.#firstMs * 2 ** this.#failures);
    this.#failures += 1;
    return fullMs * (0.5 + this.#random() / 2);
  }

  reset(): void {
    this.#failures = 0;
  }
}
