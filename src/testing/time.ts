/**
 * Lets virtual time pass when nothing else can happen. A handler that does real work (a file, a socket) is
 * waited for in real time, up to a limit: only then does time pass under it, as it would for one that hangs.
 */
import { settled } from '../kit/index.ts';
import type { VirtualClock } from '../kit/index.ts';
import { HORIZON_MS } from './ages.ts';

export interface TimeOptions {
  readonly clock: VirtualClock;
  /** Handlers that only real time can bring to their end. */
  readonly atWork: () => readonly object[];
  readonly realTimeoutMs: number;
}

/** Every reply and every report takes a few turns of the loop; after this many without one there is none. */
const QUIET_TURNS = 12;

export class VirtualTime {
  readonly #options: TimeOptions;
  /** Grows with everything that happens. */
  #moves = 0;
  #onMove: () => void = () => {};
  /** Those that were waited for in vain: not again. */
  readonly #hopeless: WeakSet<object> = new WeakSet();
  #turn: Promise<void> = Promise.resolve();

  constructor(options: TimeOptions) {
    this.#options = options;
  }

  moved(): void {
    this.#moves += 1;
    this.#onMove();
  }

  /** Until `isDone`, or until time can do no more: then it answers false. One at a time. */
  drive(isDone: () => Promise<boolean>, untilMs: number = Infinity): Promise<boolean> {
    const driven = this.#turn.then(() => this.#drive(isDone, untilMs));
    this.#turn = driven.then(
      () => {},
      () => {},
    );
    return driven;
  }

  async #drive(isDone: () => Promise<boolean>, untilMs: number): Promise<boolean> {
    const { clock } = this.#options;
    for (;;) {
      await this.#quiet();
      if (await isDone()) return true;
      if (await this.#realWork()) continue;
      const nextMs = clock.nextAtMs;
      const nowMs = clock.monotonicMs();
      if (nextMs === null || nextMs > untilMs || nextMs - nowMs > HORIZON_MS) break;
      await clock.advance(nextMs - nowMs);
    }
    if (untilMs !== Infinity) await clock.advance(untilMs - clock.monotonicMs());
    return false;
  }

  /** All that can happen without time has happened. */
  async #quiet(): Promise<void> {
    const { clock } = this.#options;
    let quiet = 0;
    while (quiet < QUIET_TURNS) {
      const before = this.#moves;
      if (clock.nextAtMs === clock.monotonicMs()) await clock.advance(0);
      await settled();
      quiet = this.#moves === before ? quiet + 1 : 0;
    }
  }

  /** True when a handler has moved while we waited. */
  async #realWork(): Promise<boolean> {
    const { atWork, realTimeoutMs } = this.#options;
    const waitedFor = atWork().filter((work) => !this.#hopeless.has(work));
    if (waitedFor.length === 0) return false;
    const before = this.#moves;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, realTimeoutMs);
      this.#onMove = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#onMove = () => {};
    if (this.#moves !== before) return true;
    for (const work of waitedFor) this.#hopeless.add(work);
    return false;
  }
}
