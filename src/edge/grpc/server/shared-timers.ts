import type { Clock } from '../../../kit/index.ts';

/** Waits that are this many times as long as the time between two ends may end with others. */
const LONG = 20;

interface End {
  readonly acts: Set<() => void>;
  readonly cancelTimer: () => void;
}

/**
 * Long waits of many callers that end together, up to `everyMs` before their time: for the polls of a thousand idle workers there
 * are a few timers in place of a thousand, and those that end in one turn of the event loop share a batch of the leader.
 */
export class SharedTimers implements Pick<Clock, 'after'> {
  readonly #clock: Clock;
  readonly #everyMs: number;
  /** By the number of the end. */
  readonly #ends: Map<number, End> = new Map();

  constructor(clock: Clock, everyMs: number) {
    this.#clock = clock;
    this.#everyMs = everyMs;
  }

  after(ms: number, act: () => void): () => void {
    if (ms < this.#everyMs * LONG) return this.#clock.after(ms, act);
    const nowMs = this.#clock.monotonicMs();
    const no = Math.floor((nowMs + ms) / this.#everyMs);
    const { acts, cancelTimer } = this.#ends.get(no) ?? this.#open(no, nowMs);
    acts.add(act);
    return () => {
      acts.delete(act);
      // Of a process that stops, nothing may be left to wait for.
      if (acts.size > 0 || this.#ends.get(no)?.acts !== acts) return;
      cancelTimer();
      this.#ends.delete(no);
    };
  }

  #open(no: number, nowMs: number): End {
    const acts = new Set<() => void>();
    const cancelTimer = this.#clock.after(no * this.#everyMs - nowMs, () => {
      this.#ends.delete(no);
      for (const act of [...acts]) act();
    });
    const end = { acts, cancelTimer };
    this.#ends.set(no, end);
    return end;
  }
}
