import type { Clock } from '../../kit/index.ts';
import type { Instant, Settings } from '../core/index.ts';
import type { Counters, Store, Term } from '../store/index.ts';
import { DatabaseTime } from './database-time.ts';

/**
 * One term of leadership, and how long this process may believe in it without asking. Belief counts
 * from *before* a renewal was sent, on the monotonic clock, and lasts one renewal interval, well
 * inside the TTL: so a leader that was paused or cut off falls silent before another can have begun.
 */
export class LeaderTerm {
  readonly term: Term;
  readonly time: DatabaseTime;
  readonly ttlMs: number;
  /** As of the last commit whose success is known, or of the load that the term began with. */
  acknowledged: Counters | null = null;
  /** Where the history was when the term began. */
  began: Counters | null = null;
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #renewMs: number;
  #renewedAtMs: number;

  constructor(
    store: Store,
    clock: Clock,
    settings: Settings,
    elected: { readonly term: Term; readonly now: Instant; readonly askedAtMs: number },
  ) {
    this.term = elected.term;
    this.ttlMs = settings.leaderTtlMs;
    this.time = new DatabaseTime(clock, elected.now);
    this.#store = store;
    this.#clock = clock;
    this.#renewMs = settings.leaderRenewMs;
    this.#renewedAtMs = elected.askedAtMs;
  }

  /** Nothing may be answered before the term is renewed. */
  get isRenewalDue(): boolean {
    return this.#clock.monotonicMs() - this.#renewedAtMs >= this.#renewMs;
  }

  /** Runs a transaction that renews the term as well, and takes the database's time from it. */
  async renewedBy(act: () => Promise<Instant>): Promise<Instant> {
    const askedAtMs = this.#clock.monotonicMs();
    const now = await act();
    this.time.heard(now, askedAtMs);
    this.#renewedAtMs = askedAtMs;
    return now;
  }

  renew(): Promise<Instant> {
    const { commitNo } = this.acknowledged ?? { commitNo: 0 };
    return this.renewedBy(() => this.#store.renew(this.term, this.ttlMs, commitNo));
  }
}
