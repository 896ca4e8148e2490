import type { Clock } from './clock.ts';

interface Timer {
  readonly atMs: number;
  readonly fire: () => void;
}

/** Time that passes only by `advance`. Timers fire in order of their time, then of their arming. */
export class VirtualClock implements Clock {
  #nowMs = 0;
  #armed = 0;
  readonly #timers: Map<number, Timer> = new Map();

  monotonicMs(): number {
    return this.#nowMs;
  }

  after(ms: number, fire: () => void): () => void {
    this.#armed += 1;
    const id = this.#armed;
    this.#timers.set(id, { atMs: this.#nowMs + ms, fire });
    return () => this.#timers.delete(id);
  }

  /** When the next timer fires; null when none is armed. */
  get nextAtMs(): number | null {
    let next: number | null = null;
    for (const { atMs } of this.#timers.values()) if (next === null || atMs < next) next = atMs;
    return next === null ? null : Math.max(next, this.#nowMs);
  }

  /** Lets time pass; what each timer sets in motion settles before the next one fires. */
  async advance(ms: number): Promise<void> {
    const untilMs = this.#nowMs + ms;
    await settled();
    for (let next = this.#due(untilMs); next !== null; next = this.#due(untilMs)) {
      this.#nowMs = next.atMs;
      next.fire();
      await settled();
    }
    this.#nowMs = untilMs;
  }

  /** Time jumps, as if the process had been stopped: everything due fires late, and at once. */
  async jump(ms: number): Promise<void> {
    this.#nowMs += ms;
    await this.advance(0);
  }

  #due(untilMs: number): Timer | null {
    let first: [number, Timer] | null = null;
    for (const entry of this.#timers) {
      if (entry[1].atMs <= untilMs && (first === null || entry[1].atMs < first[1].atMs)) {
        first = entry;
      }
    }
    if (first === null) return null;
    this.#timers.delete(first[0]);
    return { ...first[1], atMs: Math.max(first[1].atMs, this.#nowMs) };
  }
}

/** Every promise that can settle without time or I/O has settled. */
export function settled(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
