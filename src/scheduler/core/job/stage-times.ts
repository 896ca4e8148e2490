import type { Instant } from '../ids.ts';
import type { Slot } from '../task/table.ts';

/** The tasks of one stage of a query that do the same work on different parts, and how long those took that are done. */
export class StageTimes {
  readonly slots: Slot[] = [];
  /** When the tasks that still run are looked at next; null when nobody waits for that. */
  timerAt: Instant | null = null;
  /** Tasks that had nothing to do, since others got their part: they are nobody's siblings. */
  idle = 0;
  /** Ascending. */
  readonly #tookMs: number[] = [];

  /** A task of the stage has succeeded after so long. */
  add(tookMs: number): void {
    let [from, to] = [0, this.#tookMs.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if ((this.#tookMs[middle] as number) <= tookMs) from = middle + 1;
      else to = middle;
    }
    this.#tookMs.splice(from, 0, tookMs);
  }

  /** How long half of the tasks took at most; null while fewer than half are done, and for a task without siblings. */
  get medianMs(): number | null {
    const { length } = this.#tookMs;
    const siblings = this.slots.length - this.idle;
    if (siblings < 2 || length * 2 < siblings) return null;
    return this.#tookMs[(length - 1) >> 1] ?? null;
  }
}
