import { Backoff, type Clock } from '../../kit/index.ts';
import type { Store } from '../store/index.ts';

/** For notifications that went astray, and for stores behind a pooler, which has none to give. */
const LOOK_EVERY_MS = 5_000;
const RETRY_MS = 200;

/**
 * Submits the jobs in the inbox, for as long as the term lasts: at its start, when the store notifies, and from time
 * to time. One drain at a time; a notification that arrives meanwhile starts another one, because the drain may have
 * looked too early.
 */
export class InboxDrain {
  readonly #store: Store;
  readonly #clock: Clock;
  #drain: () => Promise<number> = () => Promise.resolve(0);
  #cancel: () => void = () => {};
  #stopListening: (() => Promise<void>) | null = null;
  #isRunning = false;
  #isWanted = false;
  #isStopped = false;
  readonly #backoff = new Backoff({ firstMs: RETRY_MS, maxMs: LOOK_EVERY_MS });

  constructor(store: Store, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  start(drain: () => Promise<number>): void {
    if (this.#isStopped) return;
    this.#drain = drain;
    this.#want();
    this.#listen();
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel();
    this.#hangUp();
  }

  #listen(): void {
    this.#store
      .onInbox?.(() => this.#want())
      .then(
        (stop) => {
          this.#stopListening = stop;
          if (this.#isStopped) this.#hangUp();
        },
        // The database was away just now. Until the term ends, looking every so often has to do.
        () => {},
      );
  }

  #hangUp(): void {
    const stop = this.#stopListening;
    this.#stopListening = null;
    // The connection is of no more use, so its failure does not matter.
    stop?.().catch(() => {});
  }

  #want(): void {
    this.#isWanted = true;
    if (this.#isRunning || this.#isStopped) return;
    this.#isRunning = true;
    this.#cancel();
    this.#run().then(
      (isDone) => {
        this.#isRunning = false;
        this.#arm(isDone);
      },
      () => {},
    );
  }

  async #run(): Promise<boolean> {
    while (this.#isWanted && !this.#isStopped) {
      this.#isWanted = false;
      try {
        await this.#drain();
        this.#backoff.reset();
      } catch {
        // Whatever is wrong with the store or the term, the next commit finds it out and acts.
        return false;
      }
    }
    return true;
  }

  #arm(isDone: boolean): void {
    if (this.#isStopped) return;
    // A store without notifications has no inbox.
    if (isDone && this.#store.onInbox === undefined) return;
    const waitMs = isDone ? LOOK_EVERY_MS : this.#backoff.nextMs();
    this.#cancel = this.#clock.after(waitMs, () => this.#want());
  }
}
