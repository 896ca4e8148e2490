/** When something is read again. */

export interface LoaderOptions {
  /** Reads again after this long in any case. */
  readonly pollMs?: number;
}

/**
 * A list that the server finds by walking over a million jobs must not keep it busy: it is read again after this many
 * times as long as it took, and at the latest after `REST_MAX_MS`.
 */
const REST = 5;
const REST_MAX_MS = 20_000;

/** One call at a time; what is wanted meanwhile is one more call. */
export class Loader {
  readonly #options: () => LoaderOptions;
  readonly #load: (signal: AbortSignal) => Promise<void>;
  readonly #over = new AbortController();
  #timer: ReturnType<typeof setTimeout> | null = null;
  #dueAt = Infinity;
  #isLoading = false;
  #lastAt = -Infinity;
  #restMs = 0;

  /** `load` throws if there was no answer. */
  constructor(options: () => LoaderOptions, load: (signal: AbortSignal) => Promise<void>) {
    this.#options = options;
    this.#load = load;
  }

  /** Reads at once, or as soon as the call under way has ended. */
  now(): void {
    this.#at(0);
  }

  /** Reads when the last time is so long ago, and not sooner than the server can take. */
  want(everyMs: number): void {
    this.#at(Math.max(performance.now(), this.#lastAt + Math.max(everyMs, this.#restMs)));
  }

  stop(): void {
    this.#over.abort();
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #at(at: number): void {
    if (this.#over.signal.aborted || at >= this.#dueAt) return;
    this.#dueAt = at;
    if (!this.#isLoading) this.#arm();
  }

  #arm(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#go(), Math.max(0, this.#dueAt - performance.now()));
  }

  async #go(): Promise<void> {
    [this.#isLoading, this.#dueAt, this.#lastAt] = [true, Infinity, performance.now()];
    try {
      await this.#load(this.#over.signal);
      this.#restMs = Math.min(REST_MAX_MS, REST * (performance.now() - this.#lastAt));
    } catch {
      // Whoever loads says why. A server that was away may be asked again soon.
      this.#restMs = 0;
    }
    this.#isLoading = false;
    if (this.#over.signal.aborted) return;
    const { pollMs } = this.#options();
    if (pollMs !== undefined) this.want(pollMs);
    if (this.#dueAt === Infinity) return;
    // What was wanted meanwhile was not known to take so long.
    if (this.#dueAt > 0) this.#dueAt = Math.max(this.#dueAt, this.#lastAt + this.#restMs);
    this.#arm();
  }
}
