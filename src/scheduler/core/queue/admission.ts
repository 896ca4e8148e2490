import { invariant } from '../errors.ts';
import type { Job } from '../job/job.ts';
import type { Settings } from '../settings.ts';
import type { Slot } from '../task/table.ts';

interface Waiting {
  readonly job: Job;
  readonly slot: Slot;
  readonly memoryBytes: number;
}

/** Jobs that must be admitted before they run. Urgent ones come first, then older ones, without overtaking: the first
 * one may need more than is free, and would otherwise wait for as long as smaller ones come. */
export class Admissions {
  /** What each admitted job holds. */
  readonly #held: Map<Job, number> = new Map();
  #heldBytes = 0;
  /** In the order of admission. */
  readonly #queue: Waiting[] = [];

  get isWaited(): boolean {
    return this.#queue.length > 0;
  }

  get waiting(): number {
    return this.#queue.length;
  }

  get running(): number {
    return this.#held.size;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  wait(job: Job, slot: Slot, memoryBytes: number): void {
    invariant(!this.#held.has(job), 'an admitted job does not ask for admission again');
    invariant(this.position(job) === null, 'a job stands once in the admission queue');
    this.#enqueue({ job, slot, memoryBytes });
  }

  /** Its priority has changed. */
  reorder(job: Job): void {
    const waiting = this.#queue.find((each) => each.job === job);
    if (waiting === undefined) return;
    this.leave(job);
    this.#enqueue(waiting);
  }

  #enqueue(waiting: Waiting): void {
    const behind = this.#queue.findIndex(({ job: other }) => isBefore(waiting.job, other));
    this.#queue.splice(behind < 0 ? this.#queue.length : behind, 0, waiting);
  }

  hold(job: Job, memoryBytes: number): void {
    this.#heldBytes += memoryBytes - (this.#held.get(job) ?? 0);
    this.#held.set(job, memoryBytes);
  }

  /** Admits the first job if there is room for it; returns the task that is done by that. */
  next(settings: Settings): Slot | null {
    const [first] = this.#queue;
    if (first === undefined || !this.#hasRoom(first.memoryBytes, settings)) return null;
    this.#queue.shift();
    this.hold(first.job, first.memoryBytes);
    return first.slot;
  }

  /** One that asks for more than there is runs alone. */
  #hasRoom(memoryBytes: number, { maxQueries, queryMemoryBytes }: Settings): boolean {
    if (this.#held.size === 0) return true;
    if (this.#held.size >= maxQueries) return false;
    return queryMemoryBytes === 0 || this.#heldBytes + memoryBytes <= queryMemoryBytes;
  }

  /** It waits no longer, and holds nothing. */
  leave(job: Job): void {
    const held = this.#held.get(job);
    if (held !== undefined) {
      this.#held.delete(job);
      this.#heldBytes -= held;
      return;
    }
    const at = this.#queue.findIndex((each) => each.job === job);
    if (at >= 0) this.#queue.splice(at, 1);
  }

  /** How many are before it; null when it does not wait. */
  position(job: Job): number | null {
    const at = this.#queue.findIndex((each) => each.job === job);
    return at < 0 ? null : at;
  }
}

function isBefore(a: Job, b: Job): boolean {
  return a.priority < b.priority || (a.priority === b.priority && a.no < b.no);
}
