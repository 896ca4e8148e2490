import type { LimitFigures } from '../document/document.ts';
import { limitId } from '../document/options.ts';
import type { Instant, JobNo } from '../ids.ts';
import { instant } from '../ids.ts';
import type { LimitRow } from '../rows.ts';
import { FairQueue } from './fair-queue.ts';
import type { Lane } from './lane.ts';

/** Starts in one period that are remembered one by one; of more, the times are rounded up. */
const STARTS_EXACT = 64;

/**
 * A limit that tasks share by its key. Without a period at most `max` of them are assigned at the same time; with one
 * at most `max` are started in any period of that length.
 *
 * A task that comes forward while the limit is full is parked here, lane by lane, so that no poll
 * walks over it again. When a place is free, each lane with parked tasks sends one of them back
 * into queue, and whichever lane is served first takes the place: nothing is reserved, so a task
 * that waits for a rare node, for another limit, or for its job's own limit, cannot block the others.
 */
export class Limit {
  /** Names the limit among all of both kinds. */
  readonly id: string;
  readonly key: string;
  max: number;
  /** The period in which starts are counted; null for a limit on tasks at the same time. */
  perMs: number | null;
  /** Who said so: the figures of the newest job count. */
  saidBy: JobNo;
  /** Tasks assigned now. */
  held = 0;
  /** Tasks in memory that name this limit. */
  tasks = 0;
  /** Its key is paused: nothing has a place. */
  isPaused = false;
  /** When the timer of this limit rings; null when there is none. */
  timerAt: Instant | null = null;
  /** Starts of the period that ends now, oldest first. */
  #starts: { readonly at: Instant; count: number }[] = [];
  #started = 0;
  readonly #parked: Map<Lane, FairQueue> = new Map();
  /** When each lane last got a place, counted in places given. */
  readonly #servedAt: WeakMap<Lane, number> = new WeakMap();
  #served = 0;

  constructor(figures: LimitFigures, saidBy: JobNo) {
    this.id = limitId(figures);
    this.key = figures.key;
    this.max = figures.max;
    this.perMs = figures.perMs;
    this.saidBy = saidBy;
  }

  get full(): boolean {
    return this.isPaused || (this.perMs === null ? this.held : this.#started) >= this.max;
  }

  /** Of the period that ends now. */
  get started(): number {
    return this.#started;
  }

  /** When the next start of a full period leaves it; null when nothing was started. */
  get freeAt(): Instant | null {
    const [first] = this.#starts;
    return first === undefined || this.perMs === null ? null : instant(first.at + this.perMs);
  }

  /** One more task was started. */
  start(now: Instant): void {
    const { perMs, max } = this;
    if (perMs === null) return;
    // Rounded up, so that no period ever has more than its share.
    const grain = max <= STARTS_EXACT ? 1 : Math.max(1, Math.floor(perMs / STARTS_EXACT));
    const at = instant(Math.ceil(now / grain) * grain);
    const last = this.#starts.at(-1);
    if (last !== undefined && last.at >= at) last.count += 1;
    else this.#starts.push({ at, count: 1 });
    this.#started += 1;
  }

  /** Forgets what is past the period. */
  expire(now: Instant): void {
    for (let freeAt = this.freeAt; freeAt !== null && freeAt <= now; freeAt = this.freeAt) {
      this.#started -= this.#starts.shift()?.count ?? 0;
    }
  }

  /** What must survive this leader; null for nothing. */
  row(): LimitRow | null {
    const { id, key, max, perMs } = this;
    if (perMs === null || this.#starts.length === 0) return null;
    const starts = this.#starts.map(({ at, count }) => [at, count]);
    return { id, state: JSON.stringify({ key, max, perMs, starts }) };
  }

  static fromRow({ state }: LimitRow): Limit {
    const { starts, ...figures } = JSON.parse(state) as StoredLimit;
    const limit = new Limit(figures, 0 as JobNo);
    limit.#starts = starts.map(([at, count]) => ({ at: instant(at), count }));
    limit.#started = limit.#starts.reduce((sum, { count }) => sum + count, 0);
    return limit;
  }

  /** The queue of the lane's parked tasks, if it has any. */
  parkedIn(lane: Lane): FairQueue | undefined {
    return this.#parked.get(lane);
  }

  park(lane: Lane): FairQueue {
    let queue = this.#parked.get(lane);
    if (queue === undefined) {
      queue = new FairQueue(lane, this);
      this.#parked.set(lane, queue);
    }
    return queue;
  }

  /** Lanes with parked tasks, the one served longest ago first. They are few: one for each
   * requirement and priority in use. */
  parkedLanes(): Lane[] {
    const servedAt = (lane: Lane): number => this.#servedAt.get(lane) ?? 0;
    return [...this.#parked.keys()].toSorted((a, b) => servedAt(a) - servedAt(b));
  }

  served(lane: Lane): void {
    this.#served += 1;
    this.#servedAt.set(lane, this.#served);
  }

  forgetIfEmpty(lane: Lane): void {
    if (this.#parked.get(lane)?.isEmpty === true) this.#parked.delete(lane);
  }
}

interface StoredLimit extends LimitFigures {
  readonly starts: readonly (readonly [number, number])[];
}
