/**
 * Commits that are in the tables, kept for a while: whoever waited for a job asks for its result when it has ended, and in
 * DuckDB each look at the tables takes milliseconds. They lie under the commits that are not in the tables, and no commit
 * between is missing: so what one of them has as new is known from its beginning.
 */
import type { Clock } from '../../../kit/index.ts';
import type { Pending } from './pending.ts';

/** After this long somebody who waited has asked. */
const KEPT_MS = 60_000;
/** A row takes about as much memory as this many characters of a record. */
const CHARS_A_ROW = 150;

export class FoldedLayers {
  readonly #clock: Clock;
  readonly #rowsMax: number;
  /** Newest first. */
  #layers: readonly Pending[] = [];
  #cancelTimer: () => void = () => {};

  constructor(clock: Clock, rowsMax: number) {
    this.#clock = clock;
    this.#rowsMax = rowsMax;
  }

  get layers(): readonly Pending[] {
    return this.#layers;
  }

  /** The next one that was folded. */
  add(layer: Pending): void {
    if (this.#rowsMax === 0) return;
    let left = this.#rowsMax;
    const kept: Pending[] = [];
    for (const each of [layer, ...this.#layers]) {
      left -= Math.max(each.rows, each.chars / CHARS_A_ROW);
      // Without the older ones as well: there must be no gap.
      if (left < 0) break;
      kept.push(each);
    }
    this.#layers = kept;
    this.#cancelTimer();
    this.#cancelTimer = this.#clock.after(KEPT_MS, () => this.clear());
  }

  clear(): void {
    this.#cancelTimer();
    this.#layers = [];
  }
}
