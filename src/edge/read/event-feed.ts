/**
 * The event log for any number of followers. One tail follows it for all of them, and only while there are any:
 * from the memory of the leader in this process, otherwise from the store. Each follower goes at its own pace:
 * one that keeps up reads what the tail has just seen, one that has fallen behind reads the store; nothing is
 * buffered for a slow one.
 */
import { MillraceError, isMillraceError } from '../../scheduler/core/index.ts';
import type { JobId, TermId } from '../../scheduler/core/index.ts';
import type { Clock } from '../../kit/index.ts';
import type {
  CommittedEvents,
  EventPage,
  EventShape,
  EventsQuery,
} from '../../scheduler/contract/index.ts';
import type { Store } from '../../scheduler/store/index.ts';
import { eventShape, dateOf } from './row-shapes.ts';
import { SharedPages } from './shared-pages.ts';
import { Tail } from './log-tail.ts';

export interface EventFeedOptions {
  readonly store: Pick<Store, 'events' | 'lastSeq' | 'termEnd'>;
  readonly clock: Clock;
  readonly shard?: number;
  /** How often the log is read without a call of `wake`. */
  readonly pollMs?: number;
  /** How long the log is left alone after each look, however often `wake` is called. */
  readonly restMs?: number;
  /** A follower gets something at least this often. */
  readonly signOfLifeMs?: number;
  readonly keptMax?: number;
  readonly pageMax?: number;
}

/** A part of the log, and how far it goes: further than its last event if others were filtered out. */
interface Portion {
  readonly events: readonly EventShape<Date>[];
  readonly position: number;
}

export class EventFeed {
  readonly #options: Required<EventFeedOptions>;
  #followers = 0;
  /** Of all events: each of these is woken whenever the log grows. */
  #wholeFollowers = 0;
  readonly #pagesMade: SharedPages = new SharedPages();
  #tail: Tail | null = null;
  #opening: Promise<Tail> | null = null;

  constructor(options: EventFeedOptions) {
    this.#options = {
      shard: 0,
      pollMs: 250,
      restMs: 20,
      signOfLifeMs: 5_000,
      keptMax: 4_096,
      pageMax: 500,
      ...options,
    };
  }

  get followers(): number {
    return this.#followers;
  }

  /** The leader in this process has committed these: followers need neither wait nor ask the store for them. */
  committed(committed: CommittedEvents): void {
    this.#tail?.committed(committed);
  }

  /** Something was committed: followers need not wait for the next look. */
  wake(): void {
    this.#tail?.wake();
  }

  /**
   * The first page comes at once, empty if there is nothing yet. Throws `expired` when the log does not go
   * back to `after`, and when `after` is not part of its history, from the beginning or from one page to the
   * next: then the database was restored, or has lost its last commits.
   */
  async *follow(query: EventsQuery, signal: AbortSignal): AsyncGenerator<EventPage> {
    if (signal.aborted) return;
    const leave = this.#join(query.job === undefined);
    // A follower that stands still at a page does not see the signal: its tail must not run on.
    signal.addEventListener('abort', leave, { once: true });
    try {
      const tail = await this.#open();
      yield* this.#pages(tail, query, signal);
    } finally {
      signal.removeEventListener('abort', leave);
      leave();
    }
  }

  async *#pages(
    tail: Tail,
    { after, history, job }: EventsQuery,
    signal: AbortSignal,
  ): AsyncGenerator<EventPage> {
    const { clock, signOfLifeMs } = this.#options;
    let { forks } = tail;
    if (history !== undefined && history !== tail.term) await this.#confirmPart(after, history);
    let position = after;
    let dueAtMs = -Infinity;
    while (!signal.aborted) {
      tail.check();
      if (position > tail.head) await confirmReaches(tail, position);
      if (position > tail.keptSince(forks)) throw anotherHistory(position);
      ({ forks } = tail);
      const portion = await this.#portion(tail, position, job);
      if (portion === null) continue;
      const isNew = portion.position > position;
      ({ position } = portion);
      if (portion.events.length > 0 || clock.monotonicMs() >= dueAtMs) {
        dueAtMs = clock.monotonicMs() + signOfLifeMs;
        const isCurrent = position >= tail.head;
        const lastAt = isCurrent ? undefined : portion.events.at(-1)?.at;
        const of = tail.term === null ? {} : { history: tail.term };
        const asOf = { seq: position, at: lastAt ?? dateOf(tail.at), ...of };
        yield this.#pagesMade.page(portion.events, asOf);
      } else if (!isNew) {
        position = await tail.news({ from: position, job }, signal, dueAtMs - clock.monotonicMs());
      }
    }
  }

  /** Null when another history has begun meanwhile. */
  async #portion(tail: Tail, position: number, job: JobId | undefined): Promise<Portion | null> {
    const { store, shard, pageMax } = this.#options;
    const recent = tail.recent.after(position, pageMax);
    if (recent !== null) {
      const events = job === undefined ? recent : recent.filter((event) => event.job === job);
      return { events, position: recent.at(-1)?.seq ?? position };
    }
    // Known before the read, so the read covers it: a page that is not full reaches at least here.
    const known = tail.head;
    const rows = await store.events(shard, position, pageMax, job).catch(asExpired);
    const { term } = await store.lastSeq(shard);
    if (term !== tail.term) {
      await tail.refresh();
      return null;
    }
    const last = rows.at(-1)?.seq ?? position;
    const events = rows.map(eventShape);
    return { events, position: rows.length < pageMax ? Math.max(known, last) : last };
  }

  /** A place that was named under another term: it is still the same if that term has known it. */
  async #confirmPart(position: number, history: string): Promise<void> {
    const { store, shard } = this.#options;
    const end = await store.termEnd(shard, history as TermId);
    if (position > 0 && position > (end?.lastSeq ?? 0)) throw anotherHistory(position);
  }

  /** Counts a follower; answers how to count it out again, any number of times. */
  #join(isWhole: boolean): () => void {
    const whole = isWhole ? 1 : 0;
    this.#followers += 1;
    this.#wholeFollowers += whole;
    let isIn = true;
    return () => {
      if (!isIn) return;
      isIn = false;
      this.#followers -= 1;
      this.#wholeFollowers -= whole;
      if (this.#followers === 0) this.#close();
    };
  }

  async #open(): Promise<Tail> {
    try {
      this.#tail?.check();
    } catch {
      // Its followers have got an error; a new one is opened.
      this.#close();
    }
    if (this.#tail !== null) return this.#tail;
    const opening = (this.#opening ??= Tail.open({
      ...this.#options,
      restMs: () => this.#restMs(),
    }));
    try {
      const tail = await opening;
      if (this.#opening === opening) {
        this.#opening = null;
        this.#tail = tail;
        // All followers may have left while it was opened.
        if (this.#followers === 0) this.#close();
      }
      return tail;
    } catch (error) {
      if (this.#opening === opening) this.#opening = null;
      throw error;
    }
  }

  /** Events that come closer together share a page, so that the pages of all followers stay within a number. */
  #restMs(): number {
    const { restMs } = this.#options;
    if (restMs === 0) return 0;
    const sharedMs = (this.#wholeFollowers * 1_000) / PAGES_PER_SECOND;
    return Math.max(restMs, Math.min(sharedMs, REST_MS_MAX));
  }

  #close(): void {
    this.#tail?.close();
    this.#tail = null;
  }
}

function anotherHistory(position: number): MillraceError {
  return new MillraceError({
    code: 'expired',
    what: `Event ${position} no longer belongs to the current history.`,
    why: 'The database was restored or has lost its last commits, so this number now identifies a different event.',
    todo: 'Read the state again, then follow the events from there.',
  });
}

/** To send a page to a client costs some tens of microseconds, and the leader has other work. */
const PAGES_PER_SECOND = 2_000;
const REST_MS_MAX = 500;

/** The caller may have seen an event on another node that the tail does not know yet. */
async function confirmReaches(tail: Tail, position: number): Promise<void> {
  await tail.refresh();
  if (position <= tail.head) return;
  throw new MillraceError({
    code: 'expired',
    what: `Event ${position} is beyond the end of the log, which is ${tail.head}.`,
    why: 'The log has been replaced: the database was restored or exchanged.',
    todo: `Read the state again, then follow the events from ${tail.head}.`,
  });
}

function asExpired(error: unknown): never {
  if (!isMillraceError(error, 'not_found')) throw error;
  const { what, todo } = error;
  throw new MillraceError({ code: 'expired', what, todo, cause: error });
}
