/**
 * The tasks that workers hold, as the commits of this term have it. Most of them are in the tables already when their
 * steps come. Each was proven when it was given out, and nothing removes a task that runs: what is reported of it needs
 * no look at the tables for its row.
 */
import { type Batch, type JobNo, taskKey, type TaskRef, type TaskRow } from '../../core/index.ts';

export class LeasedTasks {
  readonly #tasks: Set<number> = new Set();
  /** How many of them each job has. */
  readonly #jobs: Map<JobNo, number> = new Map();

  hasJob(no: JobNo): boolean {
    return this.#jobs.has(no);
  }

  has({ jobNo, taskNo }: TaskRef): boolean {
    return this.#tasks.has(taskKey(jobNo, taskNo));
  }

  /** A batch that was committed. */
  add({ taskInserts, taskUpdates }: Batch): void {
    for (const row of taskInserts) this.#put(row);
    for (const row of taskUpdates) this.#put(row);
  }

  #put({ jobNo, taskNo, state }: TaskRow): void {
    const key = taskKey(jobNo, taskNo);
    if ((state === 'running') === this.#tasks.has(key)) return;
    const held = this.#jobs.get(jobNo) ?? 0;
    if (state === 'running') {
      this.#tasks.add(key);
      this.#jobs.set(jobNo, held + 1);
      return;
    }
    this.#tasks.delete(key);
    if (held > 1) this.#jobs.set(jobNo, held - 1);
    else this.#jobs.delete(jobNo);
  }
}
