/**
 * The tasks that workers hold, as the commits of this term have it. Most of them are in the tables already when their
 * steps come. Each was proven when it was given out, and nothing removes a task that runs: what is reported of it needs
 * no look at the tables for its row.
 */
import {
  type Batch,
  type JobNo,
  PagedMap,
  type TaskNo,
  type TaskRef,
  type TaskRow,
} from '../../core/index.ts';

export class LeasedTasks {
  /** Most jobs have one: its number stands for it. */
  readonly #jobs: PagedMap<JobNo, TaskNo | Set<TaskNo>> = new PagedMap();

  hasJob(no: JobNo): boolean {
    return this.#jobs.has(no);
  }

  has({ jobNo, taskNo }: TaskRef): boolean {
    const held = this.#jobs.get(jobNo);
    return typeof held === 'object' ? held.has(taskNo) : held === taskNo;
  }

  /** A batch that was committed. */
  add({ taskInserts, taskUpdates }: Batch): void {
    for (const row of taskInserts) this.#put(row);
    for (const row of taskUpdates) this.#put(row);
  }

  #put({ jobNo, taskNo, state }: TaskRow): void {
    const held = this.#jobs.get(jobNo);
    if (state === 'running') {
      if (held === undefined) this.#jobs.set(jobNo, taskNo);
      else if (typeof held === 'object') held.add(taskNo);
      else if (held !== taskNo) this.#jobs.set(jobNo, new Set([held, taskNo]));
    } else if (typeof held === 'object') {
      held.delete(taskNo);
      if (held.size === 0) this.#jobs.delete(jobNo);
    } else if (held === taskNo) this.#jobs.delete(jobNo);
  }
}
