import { cursorOf, readCursor } from '../protocol/index.ts';
import type { Dated, JobShape, JobSummary, JobsQuery, Page } from '../protocol/index.ts';
import type { JobId } from '../core/index.ts';

interface Entry {
  /** As it was read last. */
  readonly read: Dated<JobShape>;
  /** Something has happened to it since. */
  isStale: boolean;
}

/** The jobs that are kept, the youngest up to a limit; older ones have to be asked for. */
export class CachedJobs {
  readonly #max: number;
  readonly #byId: Map<JobId, Entry> = new Map();
  /** Jobs below this number may be missing here; 0 when all are here. */
  #completeFrom = Infinity;

  constructor(max: number) {
    this.#max = max;
  }

  /** All jobs from this number on have been put; what is not among `ids` is of another time. */
  settle(ids: ReadonlySet<JobId>, completeFrom: number): void {
    for (const id of this.#byId.keys()) if (!ids.has(id)) this.#byId.delete(id);
    this.#completeFrom = completeFrom;
  }

  get(id: JobId): Entry | undefined {
    return this.#byId.get(id);
  }

  put(read: Dated<JobShape>): void {
    this.#byId.set(read.value.id, { read, isStale: false });
    if (this.#byId.size > this.#max * 1.25) this.#dropOldest();
  }

  remove(id: JobId): void {
    this.#byId.delete(id);
  }

  markStale(id: JobId): void {
    const entry = this.#byId.get(id);
    if (entry !== undefined) entry.isStale = true;
  }

  /** `isWhole` is false when there may be more such jobs below what is kept. */
  page({
    state,
    name,
    limit,
    cursor,
  }: JobsQuery): Page<JobSummary> & { readonly isWhole: boolean } {
    const [before = Infinity] = cursor === undefined ? [] : readCursor('jobs', 1, cursor);
    const found = this.#youngestFirst()
      .filter((job) => job.no < before)
      .filter((job) => state === undefined || job.state === state)
      .filter((job) => name === undefined || job.name === name)
      .slice(0, limit);
    const isWhole = found.length === limit || this.#completeFrom === 0;
    const last = found.at(-1);
    const isLast = last === undefined || (isWhole && found.length < limit);
    return {
      items: found.map(summaryOf),
      cursor: isLast ? null : cursorOf('jobs', [last.no]),
      isWhole,
    };
  }

  #youngestFirst(): JobShape[] {
    return [...this.#byId.values()].map(({ read }) => read.value).toSorted((a, b) => b.no - a.no);
  }

  #dropOldest(): void {
    for (const job of this.#youngestFirst().slice(this.#max)) {
      this.#byId.delete(job.id);
      this.#completeFrom = Math.max(this.#completeFrom, job.no + 1);
    }
  }
}

function summaryOf({ tasks: _tasks, history: _history, ...summary }: JobShape): JobSummary {
  return summary;
}
