/**
 * The tasks of a job that a layer has something of. Most jobs have one, and a map for each of them would cost more than its rows;
 * those of a large job come side by side.
 */
import { PagedMap, type TaskNo } from '../../core/index.ts';
import type { PendingTask } from './pending-job.ts';

export class PendingTasks {
  #onlyNo: TaskNo | null = null;
  #only: PendingTask | null = null;
  #all: PagedMap<TaskNo, PendingTask> | null = null;

  get size(): number {
    return this.#all?.size ?? (this.#only === null ? 0 : 1);
  }

  get(no: TaskNo): PendingTask | undefined {
    if (this.#all !== null) return this.#all.get(no);
    return this.#onlyNo === no && this.#only !== null ? this.#only : undefined;
  }

  /** One that is not there. */
  add(no: TaskNo, task: PendingTask): void {
    if (this.#all !== null) this.#all.set(no, task);
    else if (this.#only === null || this.#onlyNo === null) {
      this.#onlyNo = no;
      this.#only = task;
    } else {
      this.#all = new PagedMap();
      this.#all.set(this.#onlyNo, this.#only);
      this.#all.set(no, task);
      this.#only = null;
    }
  }

  /** The one that there is; null when there are none or several. */
  get only(): PendingTask | null {
    return this.#only;
  }

  values(): Iterable<PendingTask> {
    if (this.#all !== null) return this.#all.values();
    return this.#only === null ? [] : [this.#only];
  }

  forEach(act: (task: PendingTask, no: TaskNo) => void): void {
    if (this.#all !== null) this.#all.forEach(act);
    else if (this.#only !== null && this.#onlyNo !== null) act(this.#only, this.#onlyNo);
  }
}
