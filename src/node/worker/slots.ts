/** What a worker holds: at most `slots` running handlers, and behind them a queue of prefetched tasks. */
import { type LeaseName, LinkedList, TaskMap } from '../../scheduler/core/index.ts';
import type { Attempt } from './attempt.ts';

const STARTS_A_TURN = 250;

export interface SlotsOptions {
  readonly slots: number;
  /** Held ready beyond that, so that a slot never waits for a round trip between short tasks. */
  readonly prefetch: () => number;
  /** False while nothing new may be started. */
  readonly mayStart: () => boolean;
  /** Runs the handler. Its slot is free again with `ended`; the lease is held until `forget`. */
  readonly start: (attempt: Attempt) => void;
}

export class Slots {
  readonly #options: SlotsOptions;
  /** As they came. */
  readonly #held: LinkedList<Attempt> = new LinkedList();
  /** The newest of each task; others of the same one are behind it. */
  readonly #byTask: TaskMap<Attempt> = new TaskMap();
  /** Oldest first, from `#first` on. */
  #waiting: (Attempt | undefined)[] = [];
  #first = 0;
  readonly #running: Attempt[] = [];
  #isFilling = false;
  /** How many may start in this turn of the event loop; null when none has started in it. */
  #left: number | null = null;

  constructor(options: SlotsOptions) {
    this.#options = options;
  }

  /** How many more tasks it could hold; ended ones count until the leader has heard of their end. */
  get free(): number {
    const { slots, prefetch } = this.#options;
    return slots + prefetch() - this.#held.size;
  }

  get isEmpty(): boolean {
    return this.#held.size === 0;
  }

  get running(): readonly Attempt[] {
    return [...this.#running];
  }

  get leases(): readonly LeaseName[] {
    const leases: LeaseName[] = [];
    for (let each = this.#held.first; each !== null; each = each.place.after)
      leases.push(each.lease);
    return leases;
  }

  get(lease: LeaseName): Attempt | undefined {
    let found = this.#byTask.get(lease.jobNo, lease.taskNo);
    while (found !== undefined && !isSame(found.lease, lease)) found = found.older;
    return found;
  }

  /** False for what it has already: a lost answer was sent again. */
  hold(attempt: Attempt): boolean {
    const { lease } = attempt;
    if (this.get(lease) !== undefined) return false;
    attempt.older = this.#byTask.get(lease.jobNo, lease.taskNo);
    this.#byTask.set(lease.jobNo, lease.taskNo, attempt);
    this.#held.add(attempt);
    return true;
  }

  queue(attempt: Attempt): void {
    this.#waiting.push(attempt);
  }

  /** Fills free slots from the queue, oldest first. */
  fill(): void {
    // What ends while it starts makes room for the next turn of the loop.
    if (this.#isFilling) return;
    this.#isFilling = true;
    const { slots, mayStart, start } = this.#options;
    while (this.#first < this.#waiting.length) {
      if (this.#running.length >= slots || !mayStart() || !this.#takesTurn()) break;
      const attempt = this.#next();
      this.#running.push(attempt);
      start(attempt);
    }
    this.#isFilling = false;
  }

  #next(): Attempt {
    const attempt = this.#waiting[this.#first] as Attempt;
    this.#waiting[this.#first] = undefined;
    this.#first += 1;
    if (this.#first === this.#waiting.length || this.#first > this.#waiting.length / 2 + 100) {
      this.#waiting = this.#waiting.slice(this.#first);
      this.#first = 0;
    }
    return attempt;
  }

  /** The handler runs no more. */
  ended(attempt: Attempt): void {
    const at = this.#running.lastIndexOf(attempt);
    if (at >= 0) this.#running.splice(at, 1);
  }

  /** Handlers that return at once would run one after the other, and nothing would be heard or said meanwhile. */
  #takesTurn(): boolean {
    if (this.#left === null) {
      this.#left = STARTS_A_TURN;
      setImmediate(() => {
        const isMore = this.#left === 0;
        this.#left = null;
        if (isMore) this.fill();
      });
    }
    if (this.#left === 0) return false;
    this.#left -= 1;
    return true;
  }

  /** It will not be started; true if it was waiting. */
  withdraw(attempt: Attempt): boolean {
    const at = this.#waiting.indexOf(attempt, this.#first);
    if (at >= 0) this.#waiting.splice(at, 1);
    return at >= 0;
  }

  /** Takes everything that was not started out of the queue. */
  withdrawAll(): readonly Attempt[] {
    const waiting = this.#waiting.slice(this.#first) as Attempt[];
    this.#waiting = [];
    this.#first = 0;
    return waiting;
  }

  forget(attempt: Attempt): void {
    if (!this.#held.delete(attempt)) return;
    const { jobNo, taskNo } = attempt.lease;
    const newest = this.#byTask.get(jobNo, taskNo);
    if (newest === attempt) {
      if (attempt.older === undefined) this.#byTask.delete(jobNo, taskNo);
      else this.#byTask.set(jobNo, taskNo, attempt.older);
      return;
    }
    for (let each = newest; each !== undefined; each = each.older)
      if (each.older === attempt) each.older = attempt.older;
  }
}

function isSame(one: LeaseName, other: LeaseName): boolean {
  return one.fence === other.fence && one.term === other.term && one.jobId === other.jobId;
}
