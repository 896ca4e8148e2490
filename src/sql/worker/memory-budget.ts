/** The memory of this node that queries may use, handed out in the order in which it is asked for. */

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

  /** Waits until so much is free; more than there is at all is cut to that. `release` may be called twice. */
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
        // Whoever aborts says why, as a MillraceError.
        // oxlint-disable-next-line typescript/prefer-promise-reject-errors
        reject(signal.reason);
        this.#handOut();
      };
      signal.addEventListener('abort', leave, { once: true });
      this.#waiting.push(turn);
      this.#handOut();
    });
  }

  /** The first one waits for as long as it takes, and all others behind it: a large one is not passed by. */
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
