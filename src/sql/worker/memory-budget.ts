/** The node's memory for queries, granted first come, first served. */

export class MemoryBudget {
  readonly totalBytes: number;
  #free: number;
  readonly #waiting: Turn[] = [];

  constructor(totalBytes: number) {
    this.totalBytes = totalBytes;
    this.#free = totalBytes;
  }

  get freeBytes(): number {
    return this.#free;
  }

  /** Waits until this much is free. A request for more than the total is reduced to it. `release` is idempotent. */
  async reserve(wanted: number, signal: AbortSignal): Promise<Reservation> {
    const bytes = Math.min(wanted, this.totalBytes);
    signal.throwIfAborted();
    await this.#turn(bytes, signal);
    let isHeld = true;
    return {
      bytes,
      release: () => {
        if (!isHeld) return;
        isHeld = false;
        this.#free += bytes;
        this.#handOut();
      },
    };
  }

  #turn(bytes: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const turn: Turn = {
        bytes,
        take: () => {
          signal.removeEventListener('abort', leave);
          resolve();
        },
      };
      const leave = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(turn), 1);
        // The reason of an abort is a MillraceError.
        // oxlint-disable-next-line typescript/prefer-promise-reject-errors
        reject(signal.reason);
        this.#handOut();
      };
      signal.addEventListener('abort', leave, { once: true });
      this.#waiting.push(turn);
      this.#handOut();
    });
  }

  /**
   * The first request waits for as long as it takes, with all others behind it, so that a large request is not
   * starved.
   */
  #handOut(): void {
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      if (first.bytes > this.#free) return;
      this.#waiting.shift();
      this.#free -= first.bytes;
      first.take();
    }
  }
}

export interface Reservation {
  readonly bytes: number;
  readonly release: () => void;
}

interface Turn {
  readonly bytes: number;
  readonly take: () => void;
}
