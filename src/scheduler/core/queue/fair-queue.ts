import { Heap } from '../memory/heap.ts';
import type { Job } from '../job/job.ts';
import type { Slot, TaskTable } from '../task/table.ts';
import { JobQueue } from './job-queue.ts';
import type { Lane } from './lane.ts';
import type { Limit } from './limit.ts';

/** Queues without tasks are swept when there are more than this, and more than the others. */
const VACANT_MAX = 64;

/**
 * Queues of jobs that take turns by virtual time: each task taken puts its job behind the others,
 * so a job with a hundred thousand tasks cannot starve one with ten. Virtual time only grows,
 * which lets stale heap entries be refreshed when they surface.
 */
export class FairQueue {
  readonly lane: Lane;
  /** The concurrency key that these tasks wait for; null for tasks in the lane itself. */
  readonly limit: Limit | null;
  readonly #queues: Map<Job, JobQueue> = new Map();
  #heap: Heap<JobQueue> = new Heap(earlier);
  /** Empty queues in the heap. */
  #vacant = 0;

  constructor(lane: Lane, limit: Limit | null) {
    this.lane = lane;
    this.limit = limit;
  }

  /** No task waits here. Queues of jobs at their limit count: they come back. */
  get isEmpty(): boolean {
    return this.#queues.size === this.#vacant;
  }

  /** Of those that stand here; a job at its limit has more elsewhere. */
  get taskCount(): number {
    let count = 0;
    for (const queue of this.#queues.values()) count += queue.size;
    return count;
  }

  /** A task that will be among the next, without a look at whose turn it really is. */
  first(): Slot | null {
    const queue = this.#heap.peek();
    return queue === undefined || queue.size === 0 ? null : queue.first();
  }

  add(slot: Slot, tasks: TaskTable, at: 'front' | 'back'): JobQueue {
    const job = tasks.job(slot);
    let queue = this.#queues.get(job);
    if (queue === undefined) {
      queue = new JobQueue(job, this);
      this.#queues.set(job, queue);
    } else if (queue.size === 0) {
      this.#vacant -= 1;
    }
    if (at === 'back') queue.append(slot, tasks);
    else queue.prepend(slot, tasks);
    if (queue.standing === 'out') this.#push(queue);
    return queue;
  }

  remove(queue: JobQueue, slot: Slot, tasks: TaskTable): void {
    queue.remove(slot, tasks);
    if (queue.size > 0) return;
    if (queue.standing === 'in') this.#vacant += 1;
    else this.#forget(queue);
    if (this.#vacant > VACANT_MAX && this.#vacant * 2 > this.#heap.size) this.#sweep();
  }

  /** The queue whose job's turn it is, or null. Those of jobs at their limit are parked there. */
  next(onParked: (queue: JobQueue) => void): JobQueue | null {
    for (;;) {
      const queue = this.#heap.peek();
      if (queue === undefined) return null;
      if (queue.size === 0) {
        this.#heap.pop();
        this.#vacant -= 1;
        this.#forget(queue);
      } else if (queue.job.atLimit) {
        this.#heap.pop();
        queue.standing = 'parked';
        (queue.job.parkedQueues ??= []).push(queue);
        onParked(queue);
      } else if (queue.virtualTime < queue.job.virtualTime) {
        this.#heap.pop();
        this.#push(queue);
      } else {
        return queue;
      }
    }
  }

  /** The queue's job is below its limit again. False if its tasks have gone meanwhile. */
  unpark(queue: JobQueue): boolean {
    if (queue.size === 0) return false;
    this.#push(queue);
    return true;
  }

  #push(queue: JobQueue): void {
    queue.virtualTime = queue.job.virtualTime;
    queue.standing = 'in';
    this.#heap.push(queue);
  }

  #forget(queue: JobQueue): void {
    queue.standing = 'out';
    this.#queues.delete(queue.job);
  }

  /** In a lane that no node takes from, the queues of cancelled jobs must not be kept for ever. */
  #sweep(): void {
    const kept: Heap<JobQueue> = new Heap(earlier);
    for (let queue = this.#heap.pop(); queue !== undefined; queue = this.#heap.pop()) {
      if (queue.size > 0) kept.push(queue);
      else this.#forget(queue);
    }
    this.#heap = kept;
    this.#vacant = 0;
  }
}

function earlier(a: JobQueue, b: JobQueue): boolean {
  return a.virtualTime < b.virtualTime || (a.virtualTime === b.virtualTime && a.job.no < b.job.no);
}
