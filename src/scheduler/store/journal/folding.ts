/**
 * Brings the tables of one shard behind the journal forward. The leader folds what it has appended itself, from
 * memory; what another process has left is read from the journal first. Both are safe at any time: a fold says
 * where the tables have to be, and which term's commit it ends with.
 */
import { Backoff, type Clock } from '../../../kit/index.ts';
import { type Batch, isMillraceError, type MillraceError, type TermId } from '../../core/index.ts';
import type { Counters } from '../store.ts';
import { catchUp, foldOne, notFolded } from './catch-up.ts';
import { FoldedLayers } from './folded-layers.ts';
import { LiveTasks } from './live-tasks.ts';
import type { PackedBatch } from './pack.ts';
import { Pending } from './pending.ts';
import type { JournalTables } from './port.ts';

export interface FoldingOptions {
  readonly tables: JournalTables;
  readonly clock: Clock;
  readonly shard: number;
  /** How long a commit may wait before the tables follow. */
  readonly afterMs: number;
  /** The same when no other commit has come after it. */
  readonly quietMs: number;
  /** Where the tables are, and the journal. */
  readonly head: Counters;
  /** See `JournalOptions`. */
  readonly rowsWorth?: number;
  readonly readableRows?: number;
  readonly defersJobs?: boolean;
}

/** Rows and bytes that wait at most: more than a fold takes in one go, less than hurts. */
const ROWS_MAX = 400_000;
const CHARS_MAX = 64 * 1024 * 1024;
/** So much is folded at once, without waiting for more. The more wait, the more rows are written once only; but a new leader
 * has to fold them before it can begin. */
const ROWS_WORTH = 60_000;
const CHARS_WORTH = 8 * 1024 * 1024;

/** After the answers to the commit that has made it so much, and not right behind a large one: to make its rows ready takes about as
 * long again, and nobody is heard meanwhile. */
const SOON_MS = 100;

/** When every task that came has ended, no row waits for a later form of its own. So many rows then pay for a fold, which begins as
 * soon as the answers to the last commit are on their way. */
const ROWS_FINAL = 2_000;
const FINAL_MS = 10;

/** A few jobs a second are not folded one by one. */
const QUIET_FOLDS_APART = 5;

const RETRY = { firstMs: 20, maxMs: 500 };

/** The leader's side: the commits of its own term. */
export class Folding {
  readonly #options: FoldingOptions;
  readonly #backoff = new Backoff(RETRY);
  /** By the commits of this term. */
  readonly live: LiveTasks = new LiveTasks();
  /** What is in the tables, and need not be read from there. */
  readonly folded: FoldedLayers;
  #head: Counters;
  #open: Pending;
  /** What is on its way into the tables, oldest first. */
  #closed: Pending[] = [];
  #cancelTimer: (() => void) | null = null;
  #timerMs = Infinity;
  /** When the oldest commit that waits was added, and when the newest one was. */
  #oldestMs = 0;
  #newestMs = 0;
  #startedMs = -Infinity;
  /** The timer is that of a fold that is worth it already. */
  #isSoon = false;
  #running: Promise<void> | null = null;
  /** Why the last fold failed. The journal has it all, so it is tried again. */
  #failure: MillraceError | null = null;
  #ended = false;

  constructor(options: FoldingOptions) {
    this.#options = options;
    this.#head = options.head;
    this.folded = new FoldedLayers(options.clock, options.readableRows ?? 0);
    this.#open = new Pending(options.head.commitNo);
  }

  /** After the last commit. */
  get head(): Counters {
    return this.#head;
  }

  /** Newest first: what is known in the first of them is the truth. */
  get layers(): readonly Pending[] {
    return [this.#open, ...this.#closed.toReversed()];
  }

  /** The same, and behind them what was folded a moment ago: all that is known without a look at the tables. */
  get readable(): readonly Pending[] {
    return [...this.layers, ...this.folded.layers];
  }

  /** Settles when there is room for one more commit; throws when the tables cannot follow. */
  async room(): Promise<void> {
    const sum = (of: (pending: Pending) => number): number =>
      this.#closed.reduce((all, pending) => all + of(pending), of(this.#open));
    const isFull = (): boolean =>
      sum(({ rows }) => rows) > ROWS_MAX || sum(({ chars }) => chars) > CHARS_MAX;
    while (!this.#ended && isFull()) await this.#foldNow();
  }

  /** A commit that the journal has. */
  add(term: TermId, batch: Batch, { body, chunks }: PackedBatch): void {
    const { length } = body;
    this.#newestMs = this.#options.clock.monotonicMs();
    if (this.#open.isEmpty) this.#oldestMs = this.#newestMs;
    if (!this.#open.add(term, batch, length, chunks)) {
      this.#close('all');
      this.#open.add(term, batch, length, chunks);
    }
    this.live.add(batch);
    const { commitNo, lastSeq, nextJobNo } = batch;
    this.#head = { commitNo, lastSeq, nextJobNo };
    const { rows, chars: open } = this.#open;
    const { rowsWorth = ROWS_WORTH } = this.#options;
    if (rows > rowsWorth || open > CHARS_WORTH) this.#startSoon();
    else this.#startWhenQuiet();
  }

  /**
   * Settles when everything that was added before is in the tables; throws when they cannot follow. False when the term
   * has ended before: then the rest is only in the journal.
   */
  async flush(): Promise<boolean> {
    const upTo = this.#open.commitNo;
    while (!this.#ended && this.settledNo < upTo) await this.#foldNow();
    return this.settledNo >= upTo;
  }

  /** The last commit of which the tables have everything, jobs that go on as well. */
  get settledNo(): number {
    const layers = [...this.#closed, this.#open];
    return Math.min(...layers.map(({ settledBefore }) => settledBefore));
  }

  /** The last commit that the tables have. */
  get foldedNo(): number {
    return (this.#closed[0] ?? this.#open).after;
  }

  /** The term is over. What is in the journal is for the next leader. */
  end(): void {
    this.#ended = true;
    this.folded.clear();
    this.#cancelTimer?.();
  }

  /** `ended`: jobs that go on are left to the next fold, if that pays. */
  #close(what: 'all' | 'ended'): void {
    const nowMs = this.#options.clock.monotonicMs();
    const next = this.#open.next(what === 'ended' && this.#options.defersJobs ? nowMs : null);
    this.#closed.push(this.#open);
    this.#open = next;
    this.#oldestMs = nowMs;
  }

  async #foldNow(): Promise<void> {
    this.#start('all');
    await this.#running;
    if (this.#failure !== null) throw this.#failure;
  }

  /** Later commits do not move it. */
  #startSoon(): void {
    if (this.#isSoon || this.#running !== null || this.#ended) return;
    this.#isSoon = true;
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    this.#after(SOON_MS, () => this.#start('ended'));
  }

  /** Soon after the last commit, and in any case some time after the first one. Later commits do not put the timer off: it
   * looks again when it is due. */
  #startWhenQuiet(): void {
    const ms = this.#dueInMs();
    const { clock, quietMs } = this.#options;
    const isQuiet = clock.monotonicMs() >= this.#newestMs + quietMs;
    if (ms <= 0) this.#start(isQuiet ? 'all' : 'ended');
    else this.#after(ms, () => this.#startWhenQuiet());
  }

  #dueInMs(): number {
    const { clock, afterMs, quietMs } = this.#options;
    const apartMs = this.#startedMs + quietMs * QUIET_FOLDS_APART;
    const isFinal = this.#open.rows >= ROWS_FINAL && this.live.isEmpty;
    const quietAtMs = isFinal
      ? this.#newestMs + FINAL_MS
      : Math.max(this.#newestMs + quietMs, apartMs);
    return Math.ceil(Math.min(quietAtMs, this.#oldestMs + afterMs) - clock.monotonicMs());
  }

  #after(ms: number, act: () => void): void {
    if (this.#running !== null || this.#ended) return;
    const atMs = this.#options.clock.monotonicMs() + ms;
    if (this.#cancelTimer !== null && this.#timerMs <= atMs) return;
    this.#cancelTimer?.();
    this.#timerMs = atMs;
    this.#cancelTimer = this.#options.clock.after(ms, () => {
      this.#cancelTimer = null;
      act();
    });
  }

  #start(what: 'all' | 'ended'): void {
    if (this.#running !== null || this.#ended) return;
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    this.#isSoon = false;
    // While folds fail there is one layer to be tried again, not one more with each try.
    if (!this.#open.isEmpty && this.#failure === null) this.#close(what);
    if (this.#closed.length === 0) return;
    this.#startedMs = this.#options.clock.monotonicMs();
    this.#running = this.#run().then(() => {
      this.#running = null;
      if (this.#failure !== null) this.#after(this.#backoff.nextMs(), () => this.#start('all'));
      else if (!this.#open.isEmpty) this.#startWhenQuiet();
    });
  }

  async #run(): Promise<void> {
    const { tables, shard } = this.#options;
    try {
      for (const pending of [...this.#closed]) {
        if (!(await foldOne(tables, shard, pending))) {
          // Somebody has folded who took us for dead; or this is a history in which these commits never were.
          if ((await catchUp(tables, shard)).commitNo < pending.commitNo) return this.end();
        }
        this.#closed.shift();
        if (!this.#ended) this.folded.add(pending);
      }
      this.#failure = null;
      this.#backoff.reset();
    } catch (error) {
      this.#failure = isMillraceError(error) ? error : notFolded(error);
    }
  }
}
