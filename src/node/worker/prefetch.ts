/** Work for this long is kept ready, so that no slot waits for a round trip to the leader. */
const AHEAD_MS = 25;
const PREFETCH_MAX = 2_000;
/** How much one run time counts for the average. */
const WEIGHT = 0.1;
/** Below this a run time is not worth telling from another. */
const RUN_MS_MIN = 0.01;

/**
 * How many tasks a worker holds beyond its slots. Tasks of a millisecond need many, or the slots stand
 * still between two polls; tasks of a minute need none, or they would wait here while another
 * worker is free. So it follows the run times that were seen, unless a number was set.
 */
export class Prefetch {
  /** The most that it may ever be. */
  readonly max: number;
  readonly #slots: number;
  readonly #isFixed: boolean;
  #averageMs: number | null = null;
  /** Slots that are taken for long. */
  #bulk = 0;

  constructor(slots: number, fixed: number | undefined) {
    this.#slots = slots;
    this.#isFixed = fixed !== undefined;
    this.max = slots === 0 ? 0 : (fixed ?? PREFETCH_MAX);
  }

  get size(): number {
    if (this.#isFixed) return this.max;
    if (this.#averageMs === null) return 0;
    // What is held in advance waits for the other slots only.
    const slots = Math.max(0, this.#slots - this.#bulk);
    return Math.min(this.max, Math.floor((slots * AHEAD_MS) / this.#averageMs));
  }

  /** A slot is taken. Fragments of queries take theirs for long. */
  began(isBulk: boolean): void {
    if (isBulk) this.#bulk += 1;
  }

  /** It is free again. */
  ended(isBulk: boolean, ms: number): void {
    if (isBulk) this.#bulk -= 1;
    else this.ran(ms);
  }

  /** Records the run time of a task. */
  ran(ms: number): void {
    const runMs = Math.max(ms, RUN_MS_MIN);
    this.#averageMs ??= runMs;
    this.#averageMs += (runMs - this.#averageMs) * WEIGHT;
  }
}
