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
  readonly #changed: Set<JobId> = new Set();
  #cleanAsOf: AsOf | null = null;

  constructor(source: JobSource, jobs: CachedJobs) {
    this.#source = source;
    this.#jobs = jobs;
  }

  /** Everything that is cached is at least so fresh. */
  get cleanAsOf(): AsOf | null {
    return this.#cleanAsOf;
  }

  /** Event `seq` was about this job. */
  changed(id: JobId, seq: number): void {
    this.#jobs.markStale(id, seq);
    this.#changed.add(id);
  }

  /** Reads what has changed. If it fails, the rest stays for the next time. */
  async catchUp(asOf: AsOf): Promise<void> {
    const readers = Array.from({ length: READERS }, () => this.#readChanged());
    // All of them: one that continues after a failure would mix with those of the next time.
    const outcomes = await Promise.allSettled(readers);
    const failed = outcomes.find((each) => each.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    this.#cleanAsOf = asOf;
  }

  async #readChanged(): Promise<void> {
    for (const id of this.#changed) {
      this.#changed.delete(id);
      try {
        await this.read(id);
      } catch (error) {
        this.#changed.add(id);
        throw error;
      }
    }
  }

  forgetAll(): void {
    this.#jobs.clear();
    this.#changed.clear();
    this.#cleanAsOf = null;
  }

  async read(id: JobId): Promise<Dated<ReadJob | null>> {
    const { era } = this.#jobs;
    const { asOf, value } = await this.#source.job(id);
    if (value === null) this.#jobs.remove(id, asOf, era);
    else this.#jobs.put({ asOf, value }, era);
    return { asOf, value };
  }

  /** The youngest jobs, up to `max`. */
  async readAll(max: number, asOf: AsOf): Promise<void> {
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
    this.#changed.clear();
    for (const id of ids) this.#changed.add(id);
    // Until all are read, what was there before is the better answer.
    await this.catchUp(asOf);
    this.#jobs.settle(new Set(ids), cursor === null ? 0 : oldest);
  }
}
