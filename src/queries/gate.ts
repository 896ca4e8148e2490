import { MillraceError } from '../core/index.ts';

/** Lets so many in at once; others wait their turn, and not too many of them. */
export class Gate {
  readonly #atOnce: number;
  readonly #waitingMax: number;
  readonly #waiting: (() => void)[] = [];
  #inside = 0;

  constructor(atOnce: number, waitingMax: number) {
    this.#atOnce = atOnce;
    this.#waitingMax = waitingMax;
  }

  get inside(): number {
    return this.#inside;
  }

  /** Throws `overloaded` when too many wait, and the reason of the signal when it aborts meanwhile. */
  async run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    if (this.#inside >= this.#atOnce) await this.#turn(signal);
    else this.#inside += 1;
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#inside -= 1;
      else next();
    }
  }

  /** Whoever leaves hands its place over. */
  #turn(signal: AbortSignal): Promise<void> {
    if (this.#waiting.length >= this.#waitingMax) {
      throw new MillraceError({
        code: 'overloaded',
        what: `${this.#waitingMax} queries wait to be planned already, which is the limit.`,
        todo: 'Come back later.',
      });
    }
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        const at = this.#waiting.indexOf(enter);
        if (at >= 0) this.#waiting.splice(at, 1);
        reject(signal.reason as Error);
      };
      const enter = (): void => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      this.#waiting.push(enter);
      signal.addEventListener('abort', leave, { once: true });
    });
  }
}
