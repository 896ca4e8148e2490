import { invariant } from '../errors.ts';
import type { Job } from '../job/job.ts';
import type { Slot, TaskTable } from '../task/table.ts';
import type { FairQueue } from './fair-queue.ts';
import type { Limit } from './limit.ts';

/** A preference costs no more than a look at this many tasks. */
const LOOKED_AT = 16;

/** The ready tasks of one job in one place, oldest first, with removal from the middle in O(1): the links are columns
 * of the task table. A task is in one queue at most, and the table knows which. */
export class JobQueue {
  readonly job: Job;
  /** Where this queue takes its turns with those of other jobs. */
  readonly home: FairQueue;
  /** The job's virtual time when this queue came into its home; refreshed when it surfaces. */
  virtualTime = 0;
  /** `out`: not in its home's heap. `parked`: the job is at its limit and will put it back. */
  standing: 'in' | 'out' | 'parked' = 'out';
  /** Limits that have sent a task here, and others of whose tasks still wait. */
  woken: Set<Limit> | null = null;
  #head = 0;
  #tail = 0;
  #size = 0;

  constructor(job: Job, home: FairQueue) {
    this.job = job;
    this.home = home;
  }

  get size(): number {
    return this.#size;
  }

  first(): Slot {
    invariant(this.#head !== 0, 'a queue that comes forward is not empty');
    return this.#head as Slot;
  }

  /** One of the first few that is wanted, or else the first. */
  firstOf(isWanted: (slot: Slot) => boolean, tasks: TaskTable): Slot {
    let slot = this.#head;
    for (let seen = 0; seen < LOOKED_AT && slot !== 0; seen += 1) {
      if (isWanted(slot as Slot)) return slot as Slot;
      slot = tasks.next.get(slot);
    }
    return this.first();
  }

  append(slot: Slot, tasks: TaskTable): void {
    this.#enter(slot, tasks);
    tasks.previous.set(slot, this.#tail);
    tasks.next.set(slot, 0);
    if (this.#tail === 0) this.#head = slot;
    else tasks.next.set(this.#tail, slot);
    this.#tail = slot;
  }

  prepend(slot: Slot, tasks: TaskTable): void {
    this.#enter(slot, tasks);
    tasks.previous.set(slot, 0);
    tasks.next.set(slot, this.#head);
    if (this.#head === 0) this.#tail = slot;
    else tasks.previous.set(this.#head, slot);
    this.#head = slot;
  }

  remove(slot: Slot, tasks: TaskTable): void {
    invariant(tasks.queue(slot) === this, 'a task is removed from the queue it stands in');
    const previous = tasks.previous.get(slot);
    const next = tasks.next.get(slot);
    if (previous === 0) this.#head = next;
    else tasks.next.set(previous, next);
    if (next === 0) this.#tail = previous;
    else tasks.previous.set(next, previous);
    tasks.setQueue(slot, null);
    this.#size -= 1;
  }

  #enter(slot: Slot, tasks: TaskTable): void {
    invariant(tasks.queue(slot) === null, 'a task stands in one queue at most');
    tasks.setQueue(slot, this);
    this.#size += 1;
  }
}
