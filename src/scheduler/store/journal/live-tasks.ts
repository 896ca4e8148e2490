/**
 * Tasks that go on, as far as the commits of this term say everything about them. Most of them are in the tables already when
 * their steps come. Nothing removes a task that goes on, so what is reported of one of these needs no look at the tables:
 *
 * - the first task of a job that came in this term, until it ends or has a result. That is most tasks of most queues, and a
 *   bit for each is enough. Whether it has steps is known as well;
 * - any other task that a worker holds: it was proven when it was given out.
 */
import {
  type Batch,
  isTerminal,
  type JobNo,
  type TaskNo,
  type TaskRef,
  type TaskRow,
} from '../../core/index.ts';
import { NumberSet } from './number-set.ts';

export class LiveTasks {
  /** By their jobs. */
  readonly #firsts: NumberSet = new NumberSet();
  /** Those of them that have steps. */
  readonly #stepped: NumberSet = new NumberSet();
  /** Most jobs have one: its number stands for it. */
  readonly #leased: Map<JobNo, TaskNo | Set<TaskNo>> = new Map();

  get isEmpty(): boolean {
    return this.#firsts.pages === 0 && this.#leased.size === 0;
  }

  hasJob(no: JobNo): boolean {
    return this.#firsts.has(no) || this.#leased.has(no);
  }

  has(ref: TaskRef): boolean {
    if (this.isWithoutResult(ref)) return true;
    const held = this.#leased.get(ref.jobNo);
    return typeof held === 'object' ? held.has(ref.taskNo) : held === ref.taskNo;
  }

  /** It has none of any run. */
  isWithoutResult({ jobNo, taskNo }: TaskRef): boolean {
    return taskNo === 0 && this.#firsts.has(jobNo);
  }

  /** It has none of any run. */
  isWithoutSteps(ref: TaskRef): boolean {
    return this.isWithoutResult(ref) && !this.#stepped.has(ref.jobNo);
  }

  /** A batch that was committed. */
  add({ taskInserts, taskUpdates, results, copiedResults, steps, takenSignals }: Batch): void {
    for (const row of taskInserts) {
      if (row.taskNo === 0 && !isTerminal(row.state)) this.#firsts.add(row.jobNo);
      else this.#put(row);
    }
    for (const row of taskUpdates) {
      if (!this.isWithoutResult(row)) this.#put(row);
      else if (isTerminal(row.state)) this.#forget(row);
    }
    for (const ref of results) this.#forget(ref);
    for (const ref of copiedResults) this.#forget(ref);
    for (const ref of steps) if (this.isWithoutResult(ref)) this.#stepped.add(ref.jobNo);
    // Each becomes a step.
    for (const ref of takenSignals) if (this.isWithoutResult(ref)) this.#stepped.add(ref.jobNo);
  }

  #forget({ jobNo, taskNo }: TaskRef): void {
    if (taskNo !== 0) return;
    this.#firsts.delete(jobNo);
    this.#stepped.delete(jobNo);
  }

  #put({ jobNo, taskNo, state }: TaskRow): void {
    const held = this.#leased.get(jobNo);
    if (state === 'running') {
      if (held === undefined) this.#leased.set(jobNo, taskNo);
      else if (typeof held === 'object') held.add(taskNo);
      else if (held !== taskNo) this.#leased.set(jobNo, new Set([held, taskNo]));
    } else if (typeof held === 'object') {
      held.delete(taskNo);
      if (held.size === 0) this.#leased.delete(jobNo);
    } else if (held === taskNo) this.#leased.delete(jobNo);
  }
}
