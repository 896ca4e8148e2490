import { isMillraceError } from '../../scheduler/core/index.ts';
import type { EventView, Instant, JobId, TermId } from '../../scheduler/core/index.ts';
import { type Clock, type Deferred, deferred, sleep } from '../../kit/index.ts';
import type { LogHead, Store } from '../../scheduler/store/index.ts';
import type { CommittedEvents, EventShape } from '../../scheduler/contract/index.ts';
import { RecentEvents } from './recent-events.ts';
import { eventShape } from './row-shapes.ts';

export interface TailOptions {
  readonly store: Pick<Store, 'events' | 'lastSeq' | 'termEnd'>;
  readonly clock: Clock;
  readonly shard: number;
  /** How often it reads without a wake-up. */
  readonly pollMs: number;
  /** The minimum time between two reads, however often it is woken: a leader commits all the time. Longer with many
   * followers, each of whom it wakes. */
  readonly restMs: () => number;
  /** Events that are buffered for readers behind it. */
  readonly keptMax: number;
  readonly pageMax: number;
}

/**
 * Follows the log as it grows, once for all followers. A leader in this process hands over what it commits. The
 * store is read for the rest: on a request for a fresh read, when what was handed over does not continue what
 * is known here, and now and then, because a node that does not lead gets no commits. While the store is away
 * it keeps trying, and the time in the answers of followers shows that nothing new is known.
 */
export class Tail {
  readonly #options: TailOptions;
  readonly #listeners: Set<Listener> = new Set();
  /** Followers of a single job. */
  readonly #byJob: Map<JobId, Set<Listener>> = new Map();
  #recent: RecentEvents;
  #at: Instant;
  /** The last term that it knows: with an event number, a place in this history and no other. */
  #term: TermId | null;
  /** Each time that the log went on from an earlier event than was known here, that event. */
  readonly #forks: number[] = [];
  /** Committed by the leader in this process and not passed on yet. */
  #committed: CommittedEvents[] = [];
  #committedCount = 0;
  /** Callers that wait for the result of a read that has not begun yet. */
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

  /** The last event that is still the same, for a follower that began after this many forks. */
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

  /** They are passed on with the next look: events that come closer together share a page. */
  committed(committed: CommittedEvents): void {
    this.#committed.push(committed);
    this.#committedCount += committed.events.length;
    // This many at once are not buffered: followers read them from the store.
    if (this.#committedCount > this.#options.keptMax) this.#dropCommitted();
    this.wake();
  }

  #dropCommitted(): void {
    this.#committed = [];
    this.#committedCount = 0;
  }

  /** Settles when it has looked at the store once more, from now on. */
  refresh(): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    const look = deferred();
    this.#asked.push(look);
    this.wake();
    return look.promise;
  }

  /**
   * Settles when there is something new behind `from` (for `job`, if one is named), when `signal` aborts, and at the
   * latest after `ms`. Returns how far the log is known to have nothing for the follower.
   */
  news({ from, job }: Place, signal: AbortSignal, ms: number): Promise<number> {
    // It came between the follower's read and this call, when there was no listener.
    if (this.head > from) return Promise.resolve(from);
    const { clock } = this.#options;
    return new Promise((resolve) => {
      const tell: Listener = (quietUpTo) => {
        cancel();
        this.#unlisten(tell, job);
        signal.removeEventListener('abort', giveUp);
        // The follower may have read the store further than this has got.
        resolve(Math.max(from, quietUpTo ?? from));
      };
      const giveUp = (): void => tell(null);
      // Anything new would have been announced.
      const cancel = clock.after(ms, () => tell(job === undefined ? null : this.head));
      this.#listen(tell, job);
      signal.addEventListener('abort', giveUp, { once: true });
      if (signal.aborted) giveUp();
    });
  }

  #listen(tell: Listener, job: JobId | undefined): void {
    if (job === undefined) return void this.#listeners.add(tell);
    const listeners = this.#byJob.get(job);
    if (listeners === undefined) this.#byJob.set(job, new Set([tell]));
    else listeners.add(tell);
  }

  #unlisten(tell: Listener, job: JobId | undefined): void {
    if (job === undefined) return void this.#listeners.delete(tell);
    const listeners = this.#byJob.get(job);
    listeners?.delete(tell);
    if (listeners?.size === 0) this.#byJob.delete(job);
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
        if (asked.length > 0 || !this.#takeCommitted()) await this.#look();
        for (const look of asked) look.resolve();
      } catch (error) {
        for (const look of asked) look.reject(error);
        if (!isMillraceError(error, 'store_unavailable')) {
          this.#failure = error;
          this.#isClosed = true;
          this.#tellAll();
        }
      }
      await this.#rest();
      if (!this.#isWoken && !this.#isClosed) await this.#pause();
    }
    // A call on a tail that has ended fails instead of waiting.
    for (const look of this.#asked) look.resolve();
  }

  /**
   * Passes on what the leader in this process has committed. False when there is nothing, or when it does not
   * continue what is known here: another term has begun, or events are missing between the two.
   */
  #takeCommitted(): boolean {
    const committed = this.#committed;
    if (committed.length === 0) return false;
    this.#dropCommitted();
    const events: EventView[] = [];
    let { head } = this;
    for (const { term, events: all } of committed) {
      if (term !== this.#term) return false;
      for (const event of all) {
        // It was read from the store meanwhile.
        if (event.seq <= head) continue;
        if (event.seq !== head + 1) return false;
        head = event.seq;
        events.push(event);
      }
    }
    this.#push(events);
    const at = committed.at(-1)?.at ?? this.#at;
    if (at > this.#at) this.#at = at;
    return true;
  }

  #push(rows: readonly EventView[]): void {
    if (rows.length === 0) return;
    const events = rows.map(eventShape);
    for (const event of events) this.#recent.push(event);
    this.#tell(events);
  }

  async #look(): Promise<void> {
    const { store, shard, pageMax, keptMax } = this.#options;
    let head = await store.lastSeq(shard);
    await this.#turnTo(head);
    // It went on without us for too long.
    if (head.firstSeq > this.head + 1) {
      this.#recent = new RecentEvents(keptMax, head.seq);
      this.#tellAll();
    }
    while (this.head < head.seq && !this.#isClosed) {
      const rows = await store.events(shard, this.head, pageMax);
      if (rows.length === 0) break;
      // What was read belongs to this history if no other has begun meanwhile.
      const after = await store.lastSeq(shard);
      if (await this.#turnTo(after)) {
        head = after;
        continue;
      }
      this.#push(rows);
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
    return sleep(this.#options.clock, this.#isClosed ? 0 : this.#options.restMs());
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

  /** Followers of one job learn where its first new event is; followers of other jobs hear nothing. */
  #tell(events: readonly EventShape<Date>[]): void {
    for (const tell of [...this.#listeners]) tell(null);
    if (this.#byJob.size === 0) return;
    for (const { job, seq } of events) {
      const listeners = job === null ? undefined : this.#byJob.get(job);
      if (listeners !== undefined) for (const tell of [...listeners]) tell(seq - 1);
    }
  }

  /** The log has ended, or is another one than before. */
  #tellAll(): void {
    const all = [...this.#listeners, ...[...this.#byJob.values()].flatMap((each) => [...each])];
    for (const tell of all) tell(null);
  }
}

/** The position of a follower, and its filter. */
export interface Place {
  readonly from: number;
  readonly job?: JobId | undefined;
}

/** `quietUpTo`: so far there is nothing for it; null when that is not known. */
type Listener = (quietUpTo: number | null) => void;
