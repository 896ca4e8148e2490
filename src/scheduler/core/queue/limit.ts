import type { JobNo } from '../ids.ts';
import { FairQueue } from './fair-queue.ts';
import type { Lane } from './lane.ts';

/**
 * A concurrency key: at most `max` tasks that name it are assigned at the same time.
 *
 * A task that comes forward while the key is full is parked here, lane by lane, so that no poll
 * walks over it again. When a place is free, each lane with parked tasks sends one of them back
 * into queue, and whichever lane is served first takes the place: nothing is reserved, so a task
 * that waits for a rare node, or for its job's own limit, cannot block the others.
 */
export class Limit {
  readonly key: string;
  max: number;
  /** Who said so: the figure of the newest job counts. */
  saidBy: JobNo;
  /** Tasks assigned now. */
  held = 0;
  /** Tasks in memory that name this key. */
  tasks = 0;
  readonly #parked: Map<Lane, FairQueue> = new Map();
  /** When each lane last got a place, counted in places given. */
  readonly #servedAt: WeakMap<Lane, number> = new WeakMap();
  #served = 0;

  constructor(key: string, max: number, saidBy: JobNo) {
    this.key = key;
    this.max = max;
    this.saidBy = saidBy;
  }

  get full(): boolean {
    return this.held >= this.max;
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
