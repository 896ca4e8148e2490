/** The tasks of a job that a layer has something of. Most jobs have one, and a map for each of them would cost more than its rows. */
import type { TaskNo } from '../../core/index.ts';
import type { PendingTask } from './pending-job.ts';

export class PendingTasks {
  #onlyNo: TaskNo | null = null;
  #only: PendingTask | null = null;
  #all: Map<TaskNo, PendingTask> | null = null;

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
      this.#all = new Map([
        [this.#onlyNo, this.#only],
        [no, task],
      ]);
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

  entries(): Iterable<readonly [TaskNo, PendingTask]> {
    if (this.#all !== null) return this.#all.entries();
    return this.#only === null || this.#onlyNo === null ? [] : [[this.#onlyNo, this.#only]];
  }
}
