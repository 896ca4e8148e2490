import type { MillraceError, Settings } from '../core/index.ts';
import type { Clock } from '../../kit/index.ts';
import type { Store, Term } from '../store/index.ts';
import { asFault } from './faults.ts';

/** Jobs removed in one call, so that pruning never holds up the commits for long. */
const PORTION = 1_000;
/** Looking for old queries reads all jobs that have ended since: done with every so many prunes. */
const QUERIES_EVERY = 5;

/** The same for the log lines of jobs that are gone. */
const LOGS_EVERY = 5;
/** The last lines of a job may come after its end, and the first ones before it is recorded. */
const LOGS_QUIET_MS = 120_000;

export interface HousekeepingOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly settings: Settings;
  readonly term: Term;
}

/**
 * Removes what is past its retention, a portion at a time, for as long as the term lasts. A table
 * that only grows is a bug; so is a prune that stops the leader.
 */
export class Housekeeping {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #settings: Settings;
  readonly #term: Term;
  readonly #onFailure: (why: MillraceError) => void;
  #cancel: () => void = () => {};
  #isStopped = false;
  #prunes = 0;

  constructor(
    { store, clock, settings, term }: HousekeepingOptions,
    onFailure: (why: MillraceError) => void,
  ) {
    this.#onFailure = onFailure;
    this.#store = store;
    this.#clock = clock;
    this.#settings = settings;
    this.#term = term;
    this.#arm(settings.pruneEveryMs);
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel();
  }

  #arm(ms: number): void {
    if (this.#isStopped) return;
    this.#cancel = this.#clock.after(ms, () => {
      this.#prune().then(
        (isMore) => this.#arm(isMore ? 1 : this.#settings.pruneEveryMs),
        // It is tried again. A table that only grows fills the disk in the end, so it is reported.
        (error: unknown) => {
          if (!this.#isStopped) this.#onFailure(asFault(error));
          this.#arm(this.#settings.pruneEveryMs);
        },
      );
    });
  }

  async #prune(): Promise<boolean> {
    const { jobRetentionMs, queryRetentionMs, eventRetentionMs, keyRetentionMs } = this.#settings;
    const { unkeptRetentionMs } = this.#settings;
    const looksForQueries = queryRetentionMs < jobRetentionMs && this.#prunes % QUERIES_EVERY === 0;
    const { more } = await this.#store.prune(this.#term, {
      jobsMs: jobRetentionMs,
      ...(looksForQueries ? { queriesMs: queryRetentionMs } : {}),
      unkeptMs: Math.min(unkeptRetentionMs, jobRetentionMs),
      eventsMs: eventRetentionMs,
      keysMs: keyRetentionMs,
      jobsMax: PORTION,
    });
    if (more) return true;
    // What is left of them is looked for at once.
    if (this.#prunes % LOGS_EVERY === 0) {
      while (
        !this.#isStopped &&
        (await this.#store.taskLog.prune(this.#term.shard, LOGS_QUIET_MS))
      );
    }
    this.#prunes += 1;
    return false;
  }
}
