/** Limits the bytes in flight, first come, first served. */

export class ByteWindow {
  #max: number;
  #used = 0;
  readonly #waiting: { readonly bytes: number; readonly enter: () => void }[] = [];

  constructor(max: number) {
    this.#max = max;
  }

  get isIdle(): boolean {
    return this.#used === 0 && this.#waiting.length === 0;
  }

  get max(): number {
    return this.#max;
  }

  /** Whoever is inside stays; a larger window lets others in at once. */
  resize(max: number): void {
    this.#max = max;
    this.#letIn();
  }

  /** Returns the function that releases the bytes. A request for more than the maximum is admitted alone. */
  async enter(wanted: number, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    const bytes = Math.min(wanted, this.#max);
    await new Promise<void>((resolve, reject) => {
      const turn = { bytes, enter: () => enter() };
      const leave = (): void => {
        const at = this.#waiting.indexOf(turn);
        if (at >= 0) this.#waiting.splice(at, 1);
        // The reason of an abort is a MillraceError.
        // oxlint-disable-next-line typescript/prefer-promise-reject-errors
        reject(signal.reason);
        this.#letIn();
      };
      const enter = (): void => {
        signal.removeEventListener('abort', leave);
        this.#used += bytes;
        resolve();
      };
      signal.addEventListener('abort', leave, { once: true });
      this.#waiting.push(turn);
      this.#letIn();
    });
    let isIn = true;
    return () => {
      if (!isIn) return;
      isIn = false;
      this.#used -= bytes;
      this.#letIn();
    };
  }

  #letIn(): void {
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      // A request from before the window shrank is admitted alone.
      if (this.#used > 0 && this.#used + first.bytes > this.#max) return;
      this.#waiting.shift();
      first.enter();
    }
  }
}
