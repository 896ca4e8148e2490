/** What the journal has and the tables have not, or not all of it: held in memory, and on disk if the store has a file. */
import type { Counters } from '../store.ts';
import { damaged, unavailable } from './failure.ts';
import { JournalFile, type ShardRecord } from './journal-file.ts';
import type { Shard, Shards } from './shards.ts';

export class Journal {
  readonly #shards: Shards;
  /** Null for a store that ends with the process. */
  #file: JournalFile | null = null;
  #records: ShardRecord[] = [];
  #turn: Promise<unknown> = Promise.resolve();

  constructor(shards: Shards) {
    this.#shards = shards;
  }

  /**
   * Reads the files, each time that the store was opened: another process may have had it meanwhile. Within
   * `exclusively`.
   *
   * @param path that of the DuckDB file; null for a store that ends with the process.
   */
  async load(path: string | null): Promise<void> {
    if (path === null) return;
    this.#file ??= new JournalFile(path);
    const records = await this.#file.read();
    try {
      this.#records = unfolded(path, records, this.#shards);
    } catch (damage) {
      // As it is: none of it is in the tables.
      await this.#file.close(() => -1);
      throw damage;
    }
  }

  /** No line is written meanwhile. */
  exclusively<T>(use: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(use);
    this.#turn = turn.catch(() => {});
    return turn;
  }

  /** Those that have records here. */
  get shards(): readonly number[] {
    return [...new Set(this.#records.map(({ shard }) => shard))];
  }

  /** The counters after the last commit. */
  head(shard: Shard): Counters {
    const last = this.#records.findLast((record) => record.shard === shard.no) ?? shard;
    const { commitNo, lastSeq, nextJobNo } = last;
    return { commitNo, lastSeq, nextJobNo };
  }

  /** Within `exclusively`. */
  async append(record: ShardRecord): Promise<void> {
    if (this.#file?.isInDoubt === true) {
      throw unavailable(new Error('The outcome of the last write to the journal is unknown.'));
    }
    await this.#file?.append(record);
    this.#records.push(record);
  }

  /** Of those after commit `after`. */
  oldest(shard: number, after: number, limit: number): readonly ShardRecord[] {
    const isLater = (record: ShardRecord): boolean =>
      record.shard === shard && record.commitNo > after;
    return this.#records.filter(isLater).slice(0, limit);
  }

  find(shard: number, commitNo: number): ShardRecord | undefined {
    return this.#records.find((record) => record.shard === shard && record.commitNo === commitNo);
  }

  /** The tables have followed. */
  async trim(): Promise<void> {
    this.#records = this.#records.filter(
      ({ shard, commitNo }) => commitNo > this.#shards.get(shard).settledNo,
    );
    await this.exclusively(async () => this.#file?.trim((no) => this.#shards.get(no).settledNo));
  }

  /** After a write of unknown outcome: what the files have is what counts. Within `exclusively`. */
  async settleDoubt(): Promise<void> {
    if (this.#file?.isInDoubt === true) await this.load(this.#file.path);
  }

  async close(): Promise<void> {
    await this.exclusively(async () => this.#file?.close((no) => this.#shards.get(no).settledNo));
  }
}

/** Each shard's records go on where its tables end, without a gap. */
function unfolded(path: string, records: readonly ShardRecord[], shards: Shards): ShardRecord[] {
  const left = records.filter(({ shard, commitNo }) => commitNo > shards.get(shard).settledNo);
  const next = new Map<number, number>();
  for (const { shard, commitNo } of left) {
    const expected = next.get(shard) ?? shards.get(shard).settledNo + 1;
    if (commitNo !== expected) {
      throw damaged(path, `its journal continues with commit ${commitNo} instead of ${expected}`);
    }
    next.set(shard, commitNo + 1);
  }
  return left;
}
