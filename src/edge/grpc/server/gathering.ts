import { type Clock, type Deferred, deferred } from '../../../kit/index.ts';

/** Lets calls of many callers begin in one turn of the event loop: the leader takes them as one batch then, and a batch costs
 * more than what such a call asks for. */
export class Gathering {
  readonly #clock: Clock;
  readonly #withinMs: number;
  #turn: Deferred<void> | null = null;

  constructor(clock: Clock, withinMs: number) {
    this.#clock = clock;
    this.#withinMs = withinMs;
  }

  /** Settles, for all who ask meanwhile, that long after the first one has asked. */
  turn(): Promise<void> {
    if (this.#turn !== null) return this.#turn.promise;
    const turn = deferred();
    this.#turn = turn;
    this.#clock.after(this.#withinMs, () => {
      this.#turn = null;
      turn.resolve();
    });
    return turn.promise;
  }
}
