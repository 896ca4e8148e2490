/**
 * Jobs by the ids that callers choose. Most of them are new, and for most of those it says so without a question to the
 * store: it knows every id that was stored when the term began, and every one that was committed since. What it may know is
 * looked up. It believes nothing that a caller says.
 */
import { NameFilter } from '../../kit/index.ts';
import type { Batch, JobId, JobRow } from '../core/index.ts';
import type { Store } from '../store/index.ts';

/** Ids read at once, and at most: so many take 22 MiB, and some seconds of the database after each change of leaders. */
const PORTION = 5_000;
const IDS_MAX = 4_000_000;

export type IdStore = Pick<Store, 'jobRow' | 'takenIds' | 'jobIds'>;

export class StoredIds {
  readonly #store: IdStore;
  readonly #shard: number;
  readonly #ids = new NameFilter();
  #isComplete = false;

  constructor(store: IdStore, shard: number) {
    this.#store = store;
    this.#shard = shard;
  }

  /** What was committed in this term. */
  learn({ jobInserts }: Pick<Batch, 'jobInserts'>): void {
    for (const { id } of jobInserts) this.#ids.add(id);
  }

  /** The stored job of this id. */
  async row(id: JobId): Promise<JobRow | null> {
    return this.#mayHave(id) ? this.#store.jobRow(this.#shard, id) : null;
  }

  /** Those of the ids that name a stored job. */
  async taken(ids: readonly JobId[]): Promise<ReadonlySet<JobId>> {
    const asked = ids.filter((id) => this.#mayHave(id));
    return asked.length === 0 ? new Set() : this.#store.takenIds(this.#shard, asked);
  }

  /**
   * Reads what was stored before the term. If the store does not answer, or has too many, every id is looked up for as long
   * as the term lasts.
   */
  async load(idsMax: number = IDS_MAX): Promise<void> {
    const store = this.#store;
    if (store.jobIds === undefined) return;
    let after = '';
    for (let count = 0; count < idsMax; count += PORTION) {
      const ids = await store.jobIds(after, PORTION);
      for (const id of ids) this.#ids.add(id);
      after = ids.at(-1) ?? after;
      if (ids.length < PORTION) {
        this.#isComplete = true;
        return;
      }
    }
  }

  #mayHave(id: JobId): boolean {
    return !this.#isComplete || this.#ids.mayHave(id);
  }
}
