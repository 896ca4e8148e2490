import type { JobId } from '../../../scheduler/core/index.ts';
import type { AsOf, Dated, ReadJob, Reader } from '../../../scheduler/contract/index.ts';
import type { CachedJobs } from './cached-jobs.ts';

/** Jobs read at the same time. */
const READERS = 4;
const PAGE = 500;

type JobSource = Pick<Reader, 'job' | 'jobs'>;

/** Brings cached jobs up to date after events have said that they changed. */
export class Refresher {
  readonly #source: JobSource;
  readonly #jobs: CachedJobs;
  #changed: Set<JobId> = new Set();
  #cleanAsOf: AsOf<Date> | null = null;
  /** Jobs from this number on are to be cached, once those that were listed are read; null when that is done. */
  #listedFrom: number | null = null;

  constructor(source: JobSource, jobs: CachedJobs) {
    this.#source = source;
    this.#jobs = jobs;
  }

  /** Everything that is cached is at least so fresh. */
  get cleanAsOf(): AsOf<Date> | null {
    return this.#cleanAsOf;
  }

  /** Event `seq` was about this job. */
  changed(id: JobId, seq: number): void {
    this.#jobs.markStale(id, seq);
    this.#changed.add(id);
  }

  /** Reads what has changed up to `asOf`. What changes meanwhile is left for the next call, and so is the rest when a
   * read fails. */
  async catchUp(asOf: AsOf<Date>): Promise<void> {
    const { era } = this.#jobs;
    const changed = this.#changed;
    this.#changed = new Set();
    const readers = Array.from({ length: READERS }, () => this.#readEach(changed));
    // All of them: one that goes on after a failure would mix with those of the next call.
    const outcomes = await Promise.allSettled(readers);
    if (era !== this.#jobs.era) return;
    for (const id of changed) this.#changed.add(id);
    const failed = outcomes.find((each) => each.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    this.#cleanAsOf = asOf;
    if (this.#listedFrom !== null) this.#jobs.settle(this.#listedFrom);
    this.#listedFrom = null;
  }

  async #readEach(changed: Set<JobId>): Promise<void> {
    for (const id of changed) {
      changed.delete(id);
      try {
        await this.read(id);
      } catch (error) {
        changed.add(id);
        throw error;
      }
    }
  }

  forgetAll(): void {
    this.#jobs.clear();
    this.#changed.clear();
    this.#listedFrom = null;
    this.#cleanAsOf = null;
  }

  async read(id: JobId): Promise<Dated<ReadJob | null>> {
    const { era } = this.#jobs;
    const { asOf, value } = await this.#source.job(id);
    if (value === null) this.#jobs.remove(id, asOf, era);
    else this.#jobs.put({ asOf, value }, era);
    return { asOf, value };
  }

  /** Lists the youngest jobs, up to `max`; the next `catchUp` reads them. */
  async listAll(max: number): Promise<void> {
    const ids: JobId[] = [];
    let cursor: string | null = null;
    let oldest = 0;
    do {
      const limit = Math.min(PAGE, max - ids.length);
      const from: { cursor?: string } = cursor === null ? {} : { cursor };
      const { value } = await this.#source.jobs({ limit, ...from });
      ids.push(...value.items.map(({ id }) => id));
      oldest = value.items.at(-1)?.no ?? oldest;
      cursor = value.cursor;
    } while (cursor !== null && ids.length < max);
    this.#jobs.startOver();
    this.#changed = new Set(ids);
    this.#listedFrom = cursor === null ? 0 : oldest;
  }
}
