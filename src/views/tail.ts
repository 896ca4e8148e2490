import { isMillraceError } from '../core/index.ts';
import type { Instant, TermId } from '../core/index.ts';
import { type Clock, type Deferred, deferred } from '../kit/index.ts';
import type { LogHead, Store } from '../store/index.ts';
import { RecentEvents } from './recent-events.ts';
import { eventShape } from './row-shapes.ts';

export interface TailOptions {
  readonly store: Pick<Store, 'events' | 'lastSeq' | 'termEnd'>;
  readonly clock: Clock;
  readonly shard: number;
  /** How often it looks when nobody wakes it. */
  readonly pollMs: number;
  /** How long it rests between two looks, however often it is woken: a leader commits all the time. */
  readonly restMs: number;
  /** Events that are kept for those who read behind it. */
  readonly keptMax: number;
  readonly pageMax: number;
}

/**
 * Reads the log as it grows, once for everybody. It looks when it is woken, and now and then by
 * itself, because a node that does not lead hears of no commits. While the store is away it keeps
 * trying: those who follow see by the time in their answers that nothing new is known.
 */
export class Tail {
  readonly #options: TailOptions;
  readonly #listeners: Set<() => void> = new Set();
  #recent: RecentEvents;
  #at: Instant;
  /** The last term that it knows: with an event number, a place in this history and no other. */
  #term: TermId | null;
  /** Each time that the log went on from an earlier event than was known here, that event. */
  readonly #forks: number[] = [];
  /** Those who want to know the result of a look that has not begun yet. */
  #asked: Deferred<void>[] = [];
  #wakeUp: () => void = () => {};
  #isWoken = false;
  #isClosed = false;
  #failure: unknown = null;

  static async open(options: TailOptions): Promise<Tail> {
    return new Tail(options, await options.store.lastSeq(options.shard));
  }

  private constructor(options: TailOptions, head: LogHead) {
    this.#options = options;
    this.#recent = new RecentEvents(options.keptMax, head.seq);
    this.#at = head.at;
    this.#term = head.term;
    void this.#run();
  }

  get recent(): RecentEvents {
    return this.#recent;
  }

  /** The newest event that it knows. */
  get head(): number {
    return this.#recent.head;
  }

  get term(): TermId | null {
    return this.#term;
  }

  /** How often the history was seen to be rewound. */
  get forks(): number {
    return this.#forks.length;
  }

  /** The last event that is still the same, whoever began to follow after so many forks. */
  keptSince(forks: number): number {
    return Math.min(Infinity, ...this.#forks.slice(forks));
  }

  /** The database's time at which nothing newer was there. */
  get at(): Instant {
    return this.#at;
  }

  /** Throws what ended it, if anything did. */
  check(): void {
    if (this.#failure !== null) throw this.#failure as Error;
  }

  wake(): void {
    this.#isWoken = true;
    this.#wakeUp();
  }

  /** Settles when it has looked at the store once more, from now on. */
  refresh(): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    const look = deferred();
    this.#asked.push(look);
    this.wake();
    return look.promise;
  }

  /** Settles when there is something new, when `signal` aborts, and at the latest after `ms`. */
  news(signal: AbortSignal, ms: number): Promise<void> {
    const { clock } = this.#options;
    return new Promise((resolve) => {
      const done = (): void => {
        cancel();
        this.#listeners.delete(done);
        signal.removeEventListener('abort', done);
        resolve();
      };
      const cancel = clock.after(ms, done);
      this.#listeners.add(done);
      signal.addEventListener('abort', done, { once: true });
      if (signal.aborted) done();
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#wakeUp();
  }

  async #run(): Promise<void> {
    while (!this.#isClosed) {
      this.#isWoken = false;
      const asked = this.#asked;
      this.#asked = [];
      try {
        await this.#look();
        for (const look of asked) look.resolve();
      } catch (error) {
        for (const look of asked) look.reject(error);
        if (!isMillraceError(error, 'store_unavailable')) {
          this.#failure = error;
          this.#isClosed = true;
        }
      }
      this.#tellAll();
      await this.#rest();
      if (!this.#isWoken && !this.#isClosed) await this.#pause();
    }
    // Whoever asks a tail that is over is told so, not left waiting.
    for (const look of this.#asked) look.resolve();
  }

  async #look(): Promise<void> {
    const { store, shard, pageMax, keptMax } = this.#options;
    let head = await store.lastSeq(shard);
    await this.#turnTo(head);
    // It went on without us for too long.
    if (head.firstSeq > this.head + 1) this.#recent = new RecentEvents(keptMax, head.seq);
    while (this.head < head.seq && !this.#isClosed) {
      const rows = await store.events(shard, this.head, pageMax);
      if (rows.length === 0) break;
      // What was read belongs to this history if no other has begun meanwhile.
      const after = await store.lastSeq(shard);
      if (await this.#turnTo(after)) {
        head = after;
        continue;
      }
      for (const row of rows) this.#recent.push(eventShape(row));
      this.#tellAll();
    }
    this.#at = head.at;
  }

  /** Looks whether what is known here is part of the history that goes on there. True when it is not. */
  async #turnTo({ term, seq }: LogHead): Promise<boolean> {
    if (term === this.#term && seq >= this.head) return false;
    const { store, shard, keptMax } = this.#options;
    const end = this.#term === null ? null : await store.termEnd(shard, this.#term);
    const kept = Math.min(seq, end?.lastSeq ?? 0);
    this.#term = term;
    if (this.head <= kept) return false;
    this.#forks.push(kept);
    this.#recent = new RecentEvents(keptMax, kept);
    this.#tellAll();
    return true;
  }

  #rest(): Promise<void> {
    const { clock, restMs } = this.#options;
    if (restMs === 0 || this.#isClosed) return Promise.resolve();
    return new Promise((resolve) => {
      clock.after(restMs, resolve);
    });
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#options.clock.after(this.#options.pollMs, resolve);
      this.#wakeUp = () => {
        cancel();
        resolve();
      };
    });
  }

  #tellAll(): void {
    for (const tell of [...this.#listeners]) tell();
  }
}
