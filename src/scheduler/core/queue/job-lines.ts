import { Heap } from '../memory/heap.ts';
import type { Job } from '../job/job.ts';
import type { Slot, TaskTable } from '../task/table.ts';
import { JobLine } from './job-line.ts';
import type { Lane } from './lane.ts';
import type { Limit } from './limit.ts';

/** Lines without tasks are swept when there are more than this, and more than the others. */
const VACANT_MAX = 64;

/**
 * Lines of jobs that take turns by virtual time: each task taken puts its job behind the others,
 * so a job with a hundred thousand tasks cannot starve one with ten. Virtual time only grows,
 * which lets stale heap entries be refreshed when they surface.
 */
export class JobLines {
  readonly lane: Lane;
  /** The concurrency key that these tasks wait for; null for those that stand in the lane. */
  readonly limit: Limit | null;
  readonly #lines: Map<Job, JobLine> = new Map();
  #heap: Heap<JobLine> = new Heap(earlier);
  /** Empty lines in the heap. */
  #vacant = 0;

  constructor(lane: Lane, limit: Limit | null) {
    this.lane = lane;
    this.limit = limit;
  }

  /** No task waits here. Lines of jobs at their limit count: they come back. */
  get isEmpty(): boolean {
    return this.#lines.size === this.#vacant;
  }

  /** Of those that stand here; a job at its limit has more elsewhere. */
  get taskCount(): number {
    let count = 0;
    for (const line of this.#lines.values()) count += line.size;
    return count;
  }

  /** A task that will be among the next, without a look at whose turn it really is. */
  first(): Slot | null {
    const line = this.#heap.peek();
    return line === undefined || line.size === 0 ? null : line.first();
  }

  add(slot: Slot, tasks: TaskTable, at: 'front' | 'back'): JobLine {
    const job = tasks.job(slot);
    let line = this.#lines.get(job);
    if (line === undefined) {
      line = new JobLine(job, this);
      this.#lines.set(job, line);
    } else if (line.size === 0) {
      this.#vacant -= 1;
    }
    if (at === 'back') line.append(slot, tasks);
    else line.prepend(slot, tasks);
    if (line.standing === 'out') this.#push(line);
    return line;
  }

  remove(line: JobLine, slot: Slot, tasks: TaskTable): void {
    line.remove(slot, tasks);
    if (line.size > 0) return;
    if (line.standing === 'in') this.#vacant += 1;
    else this.#forget(line);
    if (this.#vacant > VACANT_MAX && this.#vacant * 2 > this.#heap.size) this.#sweep();
  }

  /** The line whose job's turn it is, or null. Those of jobs at their limit are parked there. */
  next(onParked: (line: JobLine) => void): JobLine | null {
    for (;;) {
      const line = this.#heap.peek();
      if (line === undefined) return null;
      if (line.size === 0) {
        this.#heap.pop();
        this.#vacant -= 1;
        this.#forget(line);
      } else if (line.job.atLimit) {
        this.#heap.pop();
        line.standing = 'parked';
        (line.job.parkedLines ??= []).push(line);
        onParked(line);
      } else if (line.turn < line.job.virtualTime) {
        this.#heap.pop();
        this.#push(line);
      } else {
        return line;
      }
    }
  }

  /** The line's job is below its limit again. False if its tasks have gone meanwhile. */
  unpark(line: JobLine): boolean {
    if (line.size === 0) return false;
    this.#push(line);
    return true;
  }

  #push(line: JobLine): void {
    line.turn = line.job.virtualTime;
    line.standing = 'in';
    this.#heap.push(line);
  }

  #forget(line: JobLine): void {
    line.standing = 'out';
    this.#lines.delete(line.job);
  }

  /** Where nobody takes from, the lines of cancelled jobs must not be kept for ever. */
  #sweep(): void {
    const kept: Heap<JobLine> = new Heap(earlier);
    for (let line = this.#heap.pop(); line !== undefined; line = this.#heap.pop()) {
      if (line.size > 0) kept.push(line);
      else this.#forget(line);
    }
    this.#heap = kept;
    this.#vacant = 0;
  }
}

function earlier(a: JobLine, b: JobLine): boolean {
  return a.turn < b.turn || (a.turn === b.turn && a.job.no < b.job.no);
}
