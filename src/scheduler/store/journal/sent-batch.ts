/**
 * A commit that is under way, as proof for the commits that follow on it. Most of those name nothing of it, for workers and
 * clients have not heard of it yet; so its rows are put together only when somebody asks for one of its jobs.
 */
import { type Batch, type JobId, type JobNo, PagedMap, type TermId } from '../../core/index.ts';
import { Pending } from './pending.ts';

/** What a proof asks a layer. */
export type Proving = Pick<Pending, 'job' | 'task' | 'jobNoOf' | 'jobIdForKey' | 'key' | 'signals'>;

const NO_SIGNALS: Proving['signals'] = new Map();

export class SentBatch implements Proving {
  readonly #term: TermId;
  readonly #batch: Batch;
  #ids: ReadonlyMap<JobId, JobNo> | null = null;
  #byKey: ReadonlyMap<string, JobId> | null = null;
  #jobs: PagedMap<JobNo, true> | null = null;
  #rows: Pending | null = null;

  constructor(term: TermId, batch: Batch) {
    this.#term = term;
    this.#batch = batch;
  }

  /** Of a new job: those of others are known from before. */
  jobNoOf(id: JobId): JobNo | undefined {
    this.#ids ??= new Map(this.#batch.jobInserts.map((row) => [row.id, row.no]));
    return this.#ids.get(id);
  }

  jobIdForKey(key: string): JobId | undefined {
    this.#byKey ??= new Map(
      this.#batch.jobInserts.flatMap(({ idempotencyKey: own, id }) =>
        own === null ? [] : [[own, id] as const],
      ),
    );
    return this.#byKey.get(key);
  }

  job(no: JobNo): ReturnType<Pending['job']> {
    this.#jobs ??= jobsIn(this.#batch);
    return this.#jobs.has(no) ? this.#all.job(no) : undefined;
  }

  task(ref: Parameters<Pending['task']>[0]): ReturnType<Pending['task']> {
    return this.job(ref.jobNo) === undefined ? undefined : this.#all.task(ref);
  }

  key(scope: string): ReturnType<Pending['key']> {
    const { keyUpserts, keyDeletes } = this.#batch;
    return keyUpserts.length + keyDeletes.length === 0 ? undefined : this.#all.key(scope);
  }

  get signals(): Proving['signals'] {
    const { signalInserts, takenSignals } = this.#batch;
    return signalInserts.length + takenSignals.length === 0 ? NO_SIGNALS : this.#all.signals;
  }

  get #all(): Pending {
    if (this.#rows === null) {
      this.#rows = new Pending(this.#batch.commitNo - 1);
      this.#rows.add(this.#term, this.#batch, 0, []);
    }
    return this.#rows;
  }
}

/** Of which the batch has any row. */
function jobsIn(batch: Batch): PagedMap<JobNo, true> {
  const jobs = new PagedMap<JobNo, true>();
  for (const { no } of batch.jobInserts) jobs.set(no, true);
  for (const { no } of batch.jobUpdates) jobs.set(no, true);
  const { archived, specInserts, taskInserts, taskUpdates, results, copiedResults } = batch;
  const { steps, signalInserts, takenSignals } = batch;
  for (const list of [archived, specInserts, taskInserts, taskUpdates, results, copiedResults])
    for (const { jobNo } of list) jobs.set(jobNo, true);
  for (const list of [steps, signalInserts, takenSignals])
    for (const { jobNo } of list) jobs.set(jobNo, true);
  return jobs;
}
