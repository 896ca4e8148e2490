import { Heap } from '../memory/heap.ts';
import { RenewedMap } from '../memory/renewed.ts';
import { instant } from '../ids.ts';
import type { Instant } from '../ids.ts';
import type { Job } from '../job/job.ts';
import type { Slot, TaskTable } from '../task/table.ts';
import { JobQueue } from './job-queue.ts';
import type { Lane } from './lane.ts';
import type { Limit } from './limit.ts';
import { PackedLine } from './packed-line.ts';
import type { Share } from './share.ts';

/** Queues without tasks are swept when there are more than this, and more than the others. */
const VACANT_MAX = 64;

/** The queues of jobs with one fairness key: together they take one turn. */
class ShareTurn {
  readonly share: Share;
  readonly heap: Heap<JobQueue> = new Heap<JobQueue>(earlier);
  virtualTime = 0;
  /** Of the job that was to be next when it came in: decides between turns of one round. */
  no = 0;
  isIn = false;

  constructor(share: Share) {
    this.share = share;
  }
}

type Turn = JobQueue | ShareTurn | PackedLine;

/**
 * Queues of jobs that take turns by virtual time: each task taken puts its job behind the others,
 * so a job with a hundred thousand tasks cannot starve one with ten. Jobs with one fairness key take their turns
 * together, and among themselves in the same way. Virtual time only grows, which lets stale heap entries be refreshed
 * when they surface.
 */
export class FairQueue {
  readonly lane: Lane;
  /** The limit that these tasks wait for; null for tasks in the lane itself. */
  readonly limit: Limit | null;
  readonly #queues: RenewedMap<Job, JobQueue> = new RenewedMap();
  readonly #shares: Map<Share, ShareTurn> = new Map();
  #heap: Heap<Turn> = new Heap<Turn>(earlier);
  /** Empty queues in the heaps. */
  #vacant = 0;
  /** Further jobs, that are packed. */
  #line: PackedLine | null = null;

  constructor(lane: Lane, limit: Limit | null) {
    this.lane = lane;
    this.limit = limit;
  }

  /** No task waits here. Queues of jobs at their limit count: they come back. */
  get isEmpty(): boolean {
    return this.jobCount === 0 && (this.#line?.size ?? 0) === 0;
  }

  /** Of those that are not packed. */
  get jobCount(): number {
    return this.#queues.size - this.#vacant;
  }

  get line(): PackedLine | null {
    return this.#line;
  }

  /** Of those that stand here; a job at its limit has more elsewhere. */
  get taskCount(): number {
    let count = this.#line?.size ?? 0;
    for (const queue of this.#queues.values()) count += queue.size;
    return count;
  }

  /** When a task was queued that will be among the next, without a look at whose turn it really is. What is empty leaves
   * its place. */
  firstQueuedAt(tasks: TaskTable): Instant | null {
    for (;;) {
      const turn = this.#heap.peek();
      if (turn === undefined) return null;
      if (turn instanceof PackedLine) {
        if (turn.size > 0) return turn.firstQueuedAt;
        this.#heap.pop();
        turn.isIn = false;
      } else {
        const queue = turn instanceof ShareTurn ? turn.heap.peek() : turn;
        if (queue === undefined) this.#dropFirstShare(turn as ShareTurn);
        else if (queue.size > 0) return instant(tasks.queuedAt.get(queue.first()));
        else this.#dropFirst(queue, turn instanceof ShareTurn ? turn.heap : this.#heap);
      }
    }
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
    if (queue.standing === 'in' && !this.#heap.dropLast(queue)) this.#vacant += 1;
    else this.#forget(queue);
    if (this.#vacant > VACANT_MAX && this.#vacant * 2 > this.#queues.size) this.#sweep();
  }

  /**
   * The queue whose job's turn it is, or null. Those of jobs at their limit are parked there, and `onParked` may add
   * others to this very queue: so each round looks at the heap anew.
   */
  next(onParked: (queue: JobQueue) => void): JobQueue | null {
    for (;;) {
      const turn = this.#heap.peek();
      if (turn === undefined) return null;
      if (turn instanceof PackedLine) {
        this.#heap.pop();
        turn.isIn = false;
        turn.unpackFirst();
        this.#standAgain(turn);
      } else if (!(turn instanceof ShareTurn)) {
        if (this.#isNext(turn, this.#heap, onParked)) return turn;
      } else if (turn.virtualTime < turn.share.virtualTime) {
        this.#heap.pop();
        this.#pushShare(turn);
      } else {
        const queue = turn.heap.peek();
        if (queue === undefined) this.#dropFirstShare(turn);
        else if (this.#isNext(queue, turn.heap, onParked)) return queue;
      }
    }
  }

  /** Its first job takes its turn here, and with it all others. */
  stand(line: PackedLine): void {
    this.#line = line;
    if (!line.isIn) this.#standAgain(line);
  }

  /** It is not in the heap. One without jobs stays out of it: the next that is packed brings it back. */
  #standAgain(line: PackedLine): void {
    line.isIn = line.size > 0;
    if (!line.isIn) return;
    line.refresh();
    this.#heap.push(line);
  }

  #dropFirstShare(turn: ShareTurn): void {
    this.#heap.pop();
    turn.isIn = false;
    this.#shares.delete(turn.share);
  }

  /** Whether the first queue of the heap is the one to take from; if not, it has left its place there. */
  #isNext(queue: JobQueue, heap: { pop(): unknown }, onParked: (queue: JobQueue) => void): boolean {
    if (queue.size === 0) {
      this.#dropFirst(queue, heap);
    } else if (queue.job.atLimit) {
      heap.pop();
      queue.standing = 'parked';
      (queue.job.parkedQueues ??= []).push(queue);
      onParked(queue);
    } else if (queue.virtualTime < queue.job.virtualTime) {
      heap.pop();
      this.#push(queue);
    } else {
      return true;
    }
    return false;
  }

  /** It is the first of the heap, and empty. */
  #dropFirst(queue: JobQueue, heap: { pop(): unknown }): void {
    heap.pop();
    this.#vacant -= 1;
    this.#forget(queue);
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
    const { share } = queue.job;
    if (share === null) return this.#heap.push(queue);
    let turn = this.#shares.get(share);
    if (turn === undefined) {
      turn = new ShareTurn(share);
      this.#shares.set(share, turn);
    }
    turn.heap.push(queue);
    if (!turn.isIn) this.#pushShare(turn);
  }

  #pushShare(turn: ShareTurn): void {
    turn.virtualTime = turn.share.virtualTime;
    turn.no = turn.heap.peek()?.job.no ?? 0;
    turn.isIn = true;
    this.#heap.push(turn);
  }

  #forget(queue: JobQueue): void {
    queue.standing = 'out';
    this.#queues.delete(queue.job);
  }

  /** In a lane that no node takes from, the queues of cancelled jobs must not be kept for ever. */
  #sweep(): void {
    this.#heap = new Heap<Turn>(earlier);
    this.#shares.clear();
    this.#vacant = 0;
    for (const queue of [...this.#queues.values()]) {
      if (queue.standing !== 'in') continue;
      if (queue.size === 0) this.#forget(queue);
      else this.#push(queue);
    }
    if (this.#line !== null) this.#standAgain(this.#line);
  }
}

function earlier(a: Turn, b: Turn): boolean {
  return a.virtualTime < b.virtualTime || (a.virtualTime === b.virtualTime && noOf(a) < noOf(b));
}

function noOf(turn: Turn): number {
  return turn instanceof JobQueue ? turn.job.no : turn.no;
}
